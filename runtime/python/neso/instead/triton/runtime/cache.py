# SPDX-License-Identifier: MIT
"""triton.runtime.cache in neso: a cache of files below TRITON_CACHE_DIR. The key of a file is the digest of its inputs."""
import base64
import functools
import hashlib
import json
import os
import uuid

from .. import __version__, knobs


def _base32(key):
    """Returns the folder name for a hexadecimal digest."""
    return base64.b32encode(bytes.fromhex(key)).decode("utf-8").rstrip("=")


_base64 = _base32


class CacheManager:
    def __init__(self, key, override=False, dump=False):
        self.key = key

    def get_file(self, filename):
        raise NotImplementedError

    def put(self, data, filename, binary=True):
        raise NotImplementedError

    def get_group(self, filename):
        raise NotImplementedError

    def put_group(self, filename, group):
        raise NotImplementedError


class FileCacheManager(CacheManager):
    def __init__(self, key, override=False, dump=False):
        super().__init__(key)
        folder = knobs.cache.dump_dir if dump else knobs.cache.override_dir if override else knobs.cache.dir
        if not folder:
            raise RuntimeError("Could not create or locate cache dir: set TRITON_CACHE_DIR")
        self.cache_dir = os.path.join(folder, key)
        if not override:
            os.makedirs(self.cache_dir, exist_ok=True)

    def _make_path(self, filename):
        return os.path.join(self.cache_dir, filename)

    def has_file(self, filename):
        return os.path.exists(self._make_path(filename))

    def get_file(self, filename):
        return self._make_path(filename) if self.has_file(filename) else None

    def get_group(self, filename):
        """Returns the paths of a group by file name, without files that no longer exist; None if there is no such group."""
        path = self.get_file(f"__grp__{filename}")
        if path is None:
            return None
        with open(path) as f:
            return {name: p for name, p in json.load(f)["child_paths"].items() if os.path.exists(p)}

    def put_group(self, filename, group):
        return self.put(json.dumps({"child_paths": group}), f"__grp__{filename}", binary=False)

    def put(self, data, filename, binary=True):
        """Writes a file and returns its path. Other processes see the whole file or no file."""
        if not isinstance(data, bytes):
            data = str(data).encode()
        path = self._make_path(filename)
        temporary = os.path.join(self.cache_dir, f"tmp.pid_{os.getpid()}_{uuid.uuid4()}")
        os.makedirs(self.cache_dir, exist_ok=True)
        with open(temporary, "wb") as f:
            f.write(data)
        os.replace(temporary, path)
        return path


class RemoteCacheBackend:
    def __init__(self, key):
        self.key = key

    def get(self, filenames):
        raise NotImplementedError

    def put(self, filename, data):
        raise NotImplementedError


def get_cache_manager(key):
    return (knobs.cache.manager_class or FileCacheManager)(_base32(key))


def get_override_manager(key):
    return (knobs.cache.manager_class or FileCacheManager)(_base32(key), override=True)


def get_dump_manager(key):
    return (knobs.cache.manager_class or FileCacheManager)(_base32(key), dump=True)


@functools.lru_cache(None)
def triton_key():
    """Returns a digest of neso's library and of this package, which identifies the compiler."""
    from neso import library
    digest = hashlib.sha256()
    package = os.path.dirname(os.path.abspath(library.__file__))
    paths = [library._path()]
    for folder, _, names in os.walk(package):
        paths += [os.path.join(folder, name) for name in names if name.endswith(".py")]
    for path in sorted(paths):
        with open(path, "rb") as f:
            digest.update(f.read())
    return f"neso {__version__} {digest.hexdigest()}"


def get_cache_key(src, backend, backend_options, env_vars):
    return f"{triton_key()}-{src.hash()}-{backend.hash()}-{backend_options.hash()}-{sorted(env_vars.items())}"
