# The compiled module: written by cffi, private.
from typing import Any

ffi: Any
lib: Any
