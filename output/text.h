/* Names that come from strangers, on their way into files and onto terminals. */
#ifndef KN_OUTPUT_TEXT_H
#define KN_OUTPUT_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Bytes of the UTF-8 character that text begins with, of at most `left` bytes; 0: no such character (a name that was
   cut, a path that is not text). */
size_t kn_text_character(const char* text, size_t left);
/* Bytes of the control character that text begins with, 0: none. Line ends and tabs are none; the C1 controls, and
   what turns the direction of writing round, are. */
size_t kn_text_control(const char* text, size_t left);
/* As text of HTML, XML or SVG, also within quotes. What is no character becomes U+FFFD, what XML cannot hold goes. */
void kn_text_markup(FILE* f, const char* text);
/* As a cell of a table of comma-separated values: in quotes where it must be. Spreadsheets take what begins with one of
   = + - @ for a formula to be computed; such a name gets an apostrophe before it, as they write it themselves. */
void kn_text_cell(FILE* f, const char* text);

#endif
