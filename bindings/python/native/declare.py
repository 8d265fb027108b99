"""declare.py CC ROOT OUTPUT: the C source of knuckle._kn, with every declaration taken from the public headers.

The headers go through the preprocessor and are given to cffi whole; cffi asks the compiler for offsets and sizes, so
nothing is written down twice.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import cffi

HEADERS = """archive batch broad cast certify collide comp contact dynamics fclib features force hdf5 lcp_file load massprops mesh model pool
projection record run sensor spec status step trouble types version""".split()


def preprocessed(compiler: str, root: Path, text: str) -> str:
    """Declarations alone: no includes of the C library, no attributes, no inline functions."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("stdbool.h", "stddef.h", "stdint.h"):
            (Path(folder) / name).write_text("")
        command = [compiler, "-E", "-P", "-nostdinc", "-U__GNUC__", "-DKN_DECLARE", f"-I{folder}", f"-I{root / 'include'}",
                   f"-I{root / 'scenes'}", f"-I{root / 'bindings/python/native'}", "-x", "c", "-"]
        out = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return re.sub(r"static inline [^{;]*\{.*?\n\}", "", out, flags=re.S)


def main() -> None:
    compiler, root, output = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3])
    includes = "".join(f'#include "knuckle/{name}.h"\n' for name in HEADERS) + '#include "scene.h"\n'
    declarations = preprocessed(compiler, root, includes + '#include "glue.h"\n')
    ffi = cffi.FFI()
    ffi.cdef(declarations)
    ffi.cdef("""
        extern "Python" kn_status knp_control(double*, double*, double, const double*, const double*, void*, void*);
        extern "Python" kn_status knp_read(const void**, size_t*, const char*, void*);
    """)
    ffi.set_source("knuckle._kn", includes + '#include "glue.h"\n', py_limited_api=True)
    ffi.emit_c_code(str(output))


main()
