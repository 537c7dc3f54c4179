# SPDX-License-Identifier: MIT
# Versions before 1.0 are compatible within one minor version.
set(PACKAGE_VERSION "@VERSION@")
set(PACKAGE_VERSION_COMPATIBLE TRUE)
string(REGEX MATCH "^[0-9]+(\\.[0-9]+)?" neso_asked "${PACKAGE_FIND_VERSION}")
string(REGEX MATCH "^[0-9]+\\.[0-9]+" neso_given "${PACKAGE_VERSION}")
if(NOT "${neso_given}." MATCHES "^${neso_asked}\\." OR PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
    set(PACKAGE_VERSION_COMPATIBLE FALSE)
endif()
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
endif()
