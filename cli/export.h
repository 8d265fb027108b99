/* What the files of knuckle export share. */
#ifndef KN_CLI_EXPORT_H
#define KN_CLI_EXPORT_H

#include "loads.h"

/* A text with commas, quotes or control characters stands in quotes (RFC 4180); line ends become spaces. */
void kn_csv_text(FILE* f, const char* text);

/* export_loads.c: the table of --table (contacts, pairs, bodies), row by row. */
kn_status kn_export_loads(FILE* f, bool json, kn_recording* recording, const kn_args* args, long* rows);

#endif
