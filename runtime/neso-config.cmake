# SPDX-License-Identifier: MIT
# find_package(neso) defines the targets neso::neso (the shared library) and neso::static.
get_filename_component(neso_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET neso::neso)
    add_library(neso::neso SHARED IMPORTED)
    set_target_properties(neso::neso PROPERTIES
        IMPORTED_LOCATION "${neso_prefix}/lib/libneso.so"
        INTERFACE_INCLUDE_DIRECTORIES "${neso_prefix}/include")
    add_library(neso::static STATIC IMPORTED)
    set_target_properties(neso::static PROPERTIES
        IMPORTED_LOCATION "${neso_prefix}/lib/libneso.a"
        INTERFACE_INCLUDE_DIRECTORIES "${neso_prefix}/include"
        INTERFACE_LINK_LIBRARIES "m;dl;pthread")
endif()
