/* What jansson's configure script would find out; no random seed: hashes of names only. */
#define INITIAL_HASHTABLE_ORDER 3
#define HAVE_STDINT_H           1
