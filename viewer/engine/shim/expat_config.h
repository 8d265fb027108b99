/* What expat's configure script would find out. */
#define BYTEORDER         1234
#define HAVE_MEMMOVE      1
#define HAVE_STDLIB_H     1
#define HAVE_UNISTD_H     1
#define XML_CONTEXT_BYTES 1024
#define XML_DTD           1
#define XML_NS            1
#define XML_GE            1
#define XML_POOR_ENTROPY  1 /* hashes of names only; files are the user's own */
