/* Loading real models and comparing them with a table of another program's values. */
#ifndef KN_TEST_MODEL_TABLE_H
#define KN_TEST_MODEL_TABLE_H

#include "knuckle/load.h"

/* Rows "path bodies nq nv mass trace_M logdet_M bias_norm" below a folder (of shared data unless absolute),
   '#' comments. bodies or nq < 0: not compared. Returns the number of rows, -1 when the data is not there. */
int kn_check_table(const char* folder, const char* table, const kn_load_settings* settings, double tolerance);

#endif
