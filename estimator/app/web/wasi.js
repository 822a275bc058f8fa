// What the engine asks of an operating system, as WASI preview 1 names it: the files that somebody
// gave, in one folder, read only. Everything else is refused.
const wasi = (() => {
  "use strict";
  const OK = 0, BAD_DESCRIPTOR = 8, NO_ENTRY = 44, NOT_SUPPORTED = 52;
  const DIRECTORY = 3, REGULAR = 4;
  const ROOT = 3;  // the descriptor of "/", after the three standard ones

  const files = new Map();  // by name: Uint8Array
  const open = new Map();   // by descriptor: { bytes, at }
  let memory = null;
  let next = ROOT + 1;

  const view = () => new DataView(memory.buffer);
  const bytes = (at, size) => new Uint8Array(memory.buffer, at, size);
  const name = (at, size) => new TextDecoder().decode(bytes(at, size).slice()).replace(/^(\.?\/)+/, "");

  // filestat: device, inode, type, links, size, three times.
  const stat = (out, type, size) => {
    bytes(out, 64).fill(0);
    view().setUint8(out + 16, type);
    view().setBigUint64(out + 24, 1n, true);
    view().setBigUint64(out + 32, BigInt(size), true);
    return OK;
  };
  // Into the buffers that are listed at `list`; returns how many bytes there were.
  const scatter = (source, from, list, count) => {
    let at = from;
    for (let i = 0; i < count; ++i) {
      const room = bytes(view().getUint32(list + 8 * i, true), view().getUint32(list + 8 * i + 4, true));
      const piece = source.subarray(at, at + room.length);
      room.set(piece);
      at += piece.length;
    }
    return at - from;
  };

  const calls = {
    fd_prestat_get: (fd, out) => {
      if (fd !== ROOT) return BAD_DESCRIPTOR;
      view().setUint32(out, 0, true);
      view().setUint32(out + 4, 1, true);
      return OK;
    },
    fd_prestat_dir_name: (fd, at) => { bytes(at, 1)[0] = 0x2f; return OK; },
    path_open: (folder, look, at, size, how, rights, inherited, flags, out) => {
      const path = name(at, size);
      const found = files.get(path);
      if (!found && path !== "" && path !== ".") return NO_ENTRY;
      open.set(next, { bytes: found, at: 0 });
      view().setUint32(out, next++, true);
      return OK;
    },
    path_filestat_get: (folder, look, at, size, out) => {
      const path = name(at, size);
      if (path === "" || path === ".") return stat(out, DIRECTORY, 0);
      const found = files.get(path);
      return found ? stat(out, REGULAR, found.length) : NO_ENTRY;
    },
    fd_filestat_get: (fd, out) => {
      const file = open.get(fd);
      if (!file && fd !== ROOT) return BAD_DESCRIPTOR;
      return file && file.bytes ? stat(out, REGULAR, file.bytes.length) : stat(out, DIRECTORY, 0);
    },
    fd_fdstat_get: (fd, out) => {
      const file = open.get(fd);
      bytes(out, 24).fill(0);
      view().setUint8(out, file && file.bytes ? REGULAR : DIRECTORY);
      view().setBigUint64(out + 8, 0xffffffffffffffffn, true);
      view().setBigUint64(out + 16, 0xffffffffffffffffn, true);
      return file || fd === ROOT ? OK : BAD_DESCRIPTOR;
    },
    fd_read: (fd, list, count, out) => {
      const file = open.get(fd);
      if (!file || !file.bytes) return BAD_DESCRIPTOR;
      const got = scatter(file.bytes, file.at, list, count);
      file.at += got;
      view().setUint32(out, got, true);
      return OK;
    },
    fd_pread: (fd, list, count, from, out) => {
      const file = open.get(fd);
      if (!file || !file.bytes) return BAD_DESCRIPTOR;
      view().setUint32(out, scatter(file.bytes, Number(from), list, count), true);
      return OK;
    },
    fd_readdir: (fd, at, size, cookie, out) => { view().setUint32(out, 0, true); return OK; },
    fd_close: (fd) => (open.delete(fd) ? OK : BAD_DESCRIPTOR),
    environ_sizes_get: (count, size) => {
      view().setUint32(count, 0, true);
      view().setUint32(size, 0, true);
      return OK;
    },
    environ_get: () => OK,
    clock_time_get: (clock, precision, out) => { view().setBigUint64(out, 0n, true); return OK; },
    proc_exit: (status) => { throw new Error(`the engine stopped with status ${status}`); },
  };

  return {
    files,
    imports: (module) => Object.fromEntries(WebAssembly.Module.imports(module)
      .map(({ name: call }) => [call, calls[call] || (() => NOT_SUPPORTED)])),
    attach: (instance) => { memory = instance.exports.memory; },
  };
})();
