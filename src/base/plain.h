/* Numbers as text with a decimal point, whatever locale the program has set: in one with a decimal comma printf and
   strtod would write files that nobody else reads, and refuse files of others. Called by loaders and writers. */
#pragma once

#include <locale.h>

/* strtod with the C locale, correctly rounded. */
double kn_text_to_double(const char* text, char** end);

/* This thread writes and reads numbers in the C locale until kn_plain_end, which gets what this returned. */
locale_t kn_plain_begin(void);
void kn_plain_end(locale_t before);
