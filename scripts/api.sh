#!/usr/bin/env bash
# api.sh FOLDER: the C API reference from include/knuckle, with the examples, as HTML in FOLDER. Fails when a public name
# is undocumented (lint/api). Comments in the headers are plain C comments; scripts/api_filter.py shows them to doxygen.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1
mkdir -p "$out"
doxygen - << END 2> "$out/warnings.txt"
PROJECT_NAME = Knuckle
PROJECT_BRIEF = "Contact and collision dynamics of articulated rigid bodies"
OUTPUT_DIRECTORY = $out
HTML_OUTPUT = .
GENERATE_LATEX = NO
INPUT = include/knuckle scripts/api.md scripts/api_examples.dox
USE_MDFILE_AS_MAINPAGE = scripts/api.md
EXAMPLE_PATH = examples
EXAMPLE_PATTERNS = *.c
FILTER_PATTERNS = "*.h=scripts/api_filter.py"
OPTIMIZE_OUTPUT_FOR_C = YES
EXTRACT_ALL = NO
JAVADOC_AUTOBRIEF = YES
MARKDOWN_SUPPORT = YES
AUTOLINK_SUPPORT = YES
ENABLE_PREPROCESSING = YES
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = KN_API= KN_BEGIN_DECLS= KN_END_DECLS= DOXYGEN
SOURCE_BROWSER = YES
STRIP_FROM_PATH = include
STRIP_FROM_INC_PATH = include
SORT_MEMBER_DOCS = NO
TYPEDEF_HIDES_STRUCT = YES
QUIET = YES
WARN_IF_UNDOCUMENTED = YES
WARN_IF_DOC_ERROR = YES
WARN_NO_PARAMDOC = NO
HAVE_DOT = NO
END
# Fields and values of enumerations may speak for themselves; everything else needs a sentence.
sed -i -e "s|$PWD/||" -e '/(variable) of struct\|(enumvalue)\|Member X(\|Member KN_\(API\|BEGIN_DECLS\|END_DECLS\) /d' "$out/warnings.txt"
if [ -s "$out/warnings.txt" ]; then cat "$out/warnings.txt"; exit 1; fi
