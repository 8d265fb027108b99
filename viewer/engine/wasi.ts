// The few system calls the engine makes, answered from memory: files that the page was given, standard output and
// error as text, a clock. Nothing reaches the machine.

const OK = 0, BADF = 8, INVAL = 28, NOENT = 44, NOTCAPABLE = 76;
const FILE = 4, FOLDER = 3, CHARACTER = 2;
const ROOT = 3; // the descriptor of "/"

interface Open { path: string; bytes: Uint8Array; at: number }

export class Exit extends Error {
  readonly code: number;
  constructor(code: number) { super(`the engine ended with status ${code}`); this.code = code; }
}

/** "a/./b/../c" and "/a/c" are one file. */
export function cleanPath(path: string): string {
  const out: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') out.pop();
    else if (part && part !== '.') out.push(part);
  }
  return '/' + out.join('/');
}

export class Wasi {
  readonly files = new Map<string, Uint8Array>();
  memory!: WebAssembly.Memory;
  private text: Record<number, string> = { 1: '', 2: '' };
  private open = new Map<number, Open>();
  private next = 4;
  private inodes = new Map<string, bigint>();

  /** What was written to standard error since the last call. */
  takeErrors(): string { const t = this.text[2]; this.text[2] = ''; return t; }

  private view(): DataView { return new DataView(this.memory.buffer); }
  private bytes(at: number, n: number): Uint8Array { return new Uint8Array(this.memory.buffer, at, n); }
  private string(at: number, n: number): string { return new TextDecoder().decode(this.bytes(at, n)); }

  private isFolder(path: string): boolean {
    if (path === '/') return true;
    for (const name of this.files.keys()) if (name.startsWith(path + '/')) return true;
    return false;
  }

  // Repeated includes are recognised by device and inode: every file has its own.
  private inode(path: string): bigint {
    let n = this.inodes.get(path);
    if (n === undefined) { n = BigInt(this.inodes.size + 2); this.inodes.set(path, n); }
    return n;
  }

  private stat(at: number, path: string, type: number, size: number): number {
    const v = this.view();
    this.bytes(at, 64).fill(0);
    v.setBigUint64(at, 1n, true);
    v.setBigUint64(at + 8, this.inode(path), true);
    v.setUint8(at + 16, type);
    v.setBigUint64(at + 24, 1n, true);
    v.setBigUint64(at + 32, BigInt(size), true);
    return OK;
  }

  private pathStat(path: string, at: number): number {
    const file = this.files.get(path);
    if (file) return this.stat(at, path, FILE, file.length);
    return this.isFolder(path) ? this.stat(at, path, FOLDER, 0) : NOENT;
  }

  private read(fd: number, iovs: number, count: number, got: number, from?: number): number {
    const f = this.open.get(fd);
    if (!f) return BADF;
    const v = this.view();
    let total = 0, at = from ?? f.at;
    for (let i = 0; i < count; i++) {
      const to = v.getUint32(iovs + 8 * i, true), n = v.getUint32(iovs + 8 * i + 4, true);
      const part = f.bytes.subarray(at, at + n);
      this.bytes(to, part.length).set(part);
      total += part.length;
      at += part.length;
      if (part.length < n) break;
    }
    if (from === undefined) f.at = at;
    v.setUint32(got, total, true);
    return OK;
  }

  private write(fd: number, iovs: number, count: number, done: number): number {
    if (fd !== 1 && fd !== 2) return BADF;
    const v = this.view();
    let total = 0;
    for (let i = 0; i < count; i++) {
      const n = v.getUint32(iovs + 8 * i + 4, true);
      this.text[fd] = (this.text[fd] + this.string(v.getUint32(iovs + 8 * i, true), n)).slice(-100000);
      total += n;
    }
    v.setUint32(done, total, true);
    return OK;
  }

  private openPath(path: string, oflags: number, out: number): number {
    const bytes = this.files.get(path);
    if (oflags & 1) return NOTCAPABLE; // nothing is created
    if (!bytes && !this.isFolder(path)) return NOENT;
    this.open.set(this.next, { path, bytes: bytes ?? new Uint8Array(0), at: 0 });
    this.view().setUint32(out, this.next++, true);
    return OK;
  }

  private seek(fd: number, offset: bigint, whence: number, out: number): number {
    const f = this.open.get(fd);
    if (!f) return BADF;
    const base = whence === 0 ? 0 : whence === 1 ? f.at : f.bytes.length;
    const to = base + Number(offset);
    if (to < 0) return INVAL;
    f.at = to;
    this.view().setBigUint64(out, BigInt(to), true);
    return OK;
  }

  private fdstat(fd: number, at: number): number {
    const type = fd < 3 ? CHARACTER : fd === ROOT ? FOLDER : this.open.has(fd) ? FILE : -1;
    if (type < 0) return BADF;
    const v = this.view();
    this.bytes(at, 24).fill(0);
    v.setUint8(at, type);
    v.setBigUint64(at + 8, 0xffffffffffffffffn, true);
    v.setBigUint64(at + 16, 0xffffffffffffffffn, true);
    return OK;
  }

  imports(): WebAssembly.ModuleImports {
    const known: Record<string, (...args: never[]) => unknown> = {
      args_get: () => OK,
      args_sizes_get: (argc: number, size: number) => {
        const v = this.view(); v.setUint32(argc, 0, true); v.setUint32(size, 0, true); return OK;
      },
      environ_get: () => OK,
      environ_sizes_get: (count: number, size: number) => {
        const v = this.view(); v.setUint32(count, 0, true); v.setUint32(size, 0, true); return OK;
      },
      clock_time_get: (_id: number, _precision: bigint, at: number) => {
        this.view().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true); return OK;
      },
      clock_res_get: (_id: number, at: number) => { this.view().setBigUint64(at, 1000n, true); return OK; },
      fd_close: (fd: number) => (this.open.delete(fd) ? OK : BADF),
      fd_read: (fd: number, iovs: number, n: number, got: number) => this.read(fd, iovs, n, got),
      fd_pread: (fd: number, iovs: number, n: number, from: bigint, got: number) => this.read(fd, iovs, n, got, Number(from)),
      fd_write: (fd: number, iovs: number, n: number, done: number) => this.write(fd, iovs, n, done),
      fd_seek: (fd: number, offset: bigint, whence: number, out: number) => this.seek(fd, offset, whence, out),
      fd_fdstat_get: (fd: number, at: number) => this.fdstat(fd, at),
      fd_fdstat_set_flags: () => OK,
      fd_filestat_get: (fd: number, at: number) => {
        const f = this.open.get(fd);
        if (fd < 3) return this.stat(at, `fd${fd}`, CHARACTER, 0);
        return f ? this.pathStat(f.path, at) : BADF;
      },
      fd_prestat_get: (fd: number, at: number) => {
        if (fd !== ROOT) return BADF;
        const v = this.view(); v.setUint32(at, 0, true); v.setUint32(at + 4, 1, true); return OK;
      },
      fd_prestat_dir_name: (_fd: number, at: number) => { this.view().setUint8(at, 47); return OK; },
      path_open: (_fd: number, _flags: number, at: number, n: number, oflags: number, _r: bigint, _i: bigint, _f: number, out: number) =>
        this.openPath(cleanPath(this.string(at, n)), oflags, out),
      path_filestat_get: (_fd: number, _flags: number, at: number, n: number, out: number) =>
        this.pathStat(cleanPath(this.string(at, n)), out),
      proc_exit: (code: number) => { throw new Exit(code); },
    };
    // Whatever else a C library mentions and never calls here.
    return new Proxy(known as WebAssembly.ModuleImports, { get: (t, name: string) => t[name] ?? (() => NOTCAPABLE), has: () => true });
  }
}
