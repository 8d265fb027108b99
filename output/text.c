#include "output/text.h"

#include <stdbool.h>
#include <string.h>

size_t kn_text_character(const char* text, size_t left) {
  const unsigned char *p = (const unsigned char*)text, c = left ? p[0] : 0;
  size_t n = c < 0x80                ? 1
             : c >= 0xc2 && c < 0xe0 ? 2
             : c >= 0xe0 && c < 0xf0 ? 3
             : c >= 0xf0 && c < 0xf5 ? 4
                                     : 0;
  if (n == 0 || n > left) return 0;
  for (size_t i = 1; i < n; i++)
    if ((p[i] & 0xc0) != 0x80) return 0;
  /* longer than need be, halves of surrogates, beyond U+10FFFF */
  bool wrong = (c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] > 0x9f) || (c == 0xf0 && p[1] < 0x90) ||
               (c == 0xf4 && p[1] > 0x8f);
  return wrong ? 0 : n;
}

size_t kn_text_control(const char* text, size_t left) {
  unsigned char c = (unsigned char)text[0];
  if (c == '\n' || c == '\t') return 0;
  if (c < 0x20 || c == 0x7f) return 1;
  if (c == 0xe2 && left > 2) { /* U+202A … 202E, U+2066 … 2069 */
    unsigned char a = (unsigned char)text[1], b = (unsigned char)text[2];
    return (a == 0x80 && b >= 0xaa && b <= 0xae) || (a == 0x81 && b >= 0xa6 && b <= 0xa9) ? 3 : 0;
  }
  return c == 0xc2 && left > 1 && ((unsigned char)text[1] & 0xe0) == 0x80 ? 2 : 0; /* U+0080 … 009F */
}

void kn_text_markup(FILE* f, const char* text) {
  size_t left = text ? strlen(text) : 0;
  for (size_t n; left > 0; text += n, left -= n) {
    unsigned char c = (unsigned char)text[0];
    n = kn_text_character(text, left);
    if (n == 0)
      fputs("\xef\xbf\xbd", f), n = 1;
    else if (c == '<')
      fputs("&lt;", f);
    else if (c == '>')
      fputs("&gt;", f);
    else if (c == '&')
      fputs("&amp;", f);
    else if (c == '"')
      fputs("&quot;", f);
    else if (c >= 0x20 || c == '\n' || c == '\t') /* XML has no other controls */
      fwrite(text, 1, n, f);
  }
}

void kn_text_cell(FILE* f, const char* text) {
  bool formula = text[0] && strchr("=+-@", text[0]) != NULL, plain = true;
  for (const char* c = text; *c; c++) plain = plain && (unsigned char)*c >= 0x20 && !strchr(",\"", *c);
  if (!plain) fputc('"', f);
  if (formula) fputc('\'', f);
  for (const char* c = text; *c; c++) {
    if (*c == '"') fputc('"', f);
    fputc((unsigned char)*c < 0x20 ? ' ' : *c, f);
  }
  if (!plain) fputc('"', f);
}
