/* Seccomp in Linux: a small program (classic BPF) that the kernel runs before every system call of this process and
   of all it starts. What is refused is listed, the rest is allowed: the C library and the readers may use what they
   like of memory, time and reading, and a refused call is an error to them, not a death. Calls of another
   architecture (32-bit calls of a 64-bit process) would pass the list under other numbers: they end the process. */
#include "base/child.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1 /* their runtimes start processes and open files of their own */
#endif
#endif

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && !defined(SANITIZED)
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifdef __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* Nobody who reads a file needs these. io_uring opens and sends past every filter; openat2 has its flags in memory,
   where a filter cannot look. */
static const unsigned never[] = {
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_sendto,
    SYS_sendmsg,
    SYS_sendmmsg,
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kill,
    SYS_mount,
    SYS_umount2,
    SYS_chroot,
    SYS_pivot_root,
    SYS_unshare,
    SYS_setns,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_init_module,
    SYS_finit_module,
    SYS_kexec_load,
    SYS_open_by_handle_at,
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
#endif
#ifdef SYS_io_uring_setup
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
#endif
#ifdef SYS_openat2
    SYS_openat2,
#endif
#ifdef SYS_pidfd_getfd
    SYS_pidfd_getfd,
#endif
};

static const unsigned changes[] = {
    /* of files */
    SYS_truncate,  SYS_ftruncate, SYS_fallocate, SYS_unlinkat,  SYS_renameat2, SYS_linkat,
    SYS_symlinkat, SYS_mkdirat,   SYS_mknodat,   SYS_fchmodat,  SYS_fchmod,    SYS_fchownat,
    SYS_fchown,    SYS_utimensat, SYS_setxattr,  SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr,
#ifdef SYS_renameat
    SYS_renameat,
#endif
#ifdef SYS_unlink
    SYS_creat,     SYS_unlink,    SYS_rename,    SYS_link,      SYS_symlink,   SYS_mkdir,
    SYS_rmdir,     SYS_mknod,     SYS_chmod,     SYS_chown,     SYS_lchown,
#endif
};

enum { NEVER = sizeof never / sizeof *never, CHANGES = sizeof changes / sizeof *changes };

typedef struct program {
  struct sock_filter code[20 + 2 * (NEVER + CHANGES)];
  unsigned short n;
} program;

static void add(program* p, unsigned op, unsigned value, unsigned char yes, unsigned char no) {
  p->code[p->n++] = (struct sock_filter){(unsigned short)op, yes, no, value};
}

static void refuse(program* p) { add(p, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0); }

static void refuse_call(program* p, unsigned number) {
  add(p, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
  refuse(p);
}

/* Opening for more than reading; the flags are argument `at` of the call. */
static void refuse_writing(program* p, unsigned number, unsigned at) {
  const unsigned flags = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
  add(p, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4);
  add(p, BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, args) + 8 * at, 0, 0);
  add(p, BPF_JMP | BPF_JSET | BPF_K, flags, 0, 1);
  refuse(p);
  add(p, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

bool kn_filter_enter(bool may_write) {
  program p = {.n = 0};
  add(&p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
  add(&p, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
  add(&p, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
  add(&p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
  add(&p, BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1); /* the x32 numbers of x86-64 */
  refuse(&p);
  for (int i = 0; i < NEVER; i++) refuse_call(&p, never[i]);
  for (int i = 0; i < CHANGES && !may_write; i++) refuse_call(&p, changes[i]);
  if (!may_write) {
    refuse_writing(&p, SYS_openat, 2);
#ifdef SYS_open
    refuse_writing(&p, SYS_open, 1);
#endif
  }
  add(&p, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
  struct sock_fprog whole = {p.n, p.code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole, 0, 0) == 0;
}

#else
bool kn_filter_enter(bool may_write) { return (void)may_write, false; }
#endif
