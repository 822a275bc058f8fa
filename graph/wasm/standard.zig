// What zlib and nettle do for the native build, of the standard library of the compiler that makes the
// WebAssembly engine: there are no other libraries for that target.
const std = @import("std");

var window: [std.compress.flate.max_window_len]u8 = undefined;

// The bytes that `packed_bytes` held, into `out`: how many, at most `room`, or -1 where they are damaged.
export fn plimsoll_inflate(packed_bytes: [*]const u8, size: usize, gzip: bool, out: [*]u8, room: usize) isize {
    var input: std.Io.Reader = .fixed(packed_bytes[0..size]);
    var inflating: std.compress.flate.Decompress = .init(&input, if (gzip) .gzip else .raw, &window);
    const got = inflating.reader.readSliceShort(out[0..room]) catch return -1;
    return @intCast(got);
}

// The 32 bytes of SHA-256 of `size` bytes.
export fn plimsoll_sha256(bytes: [*]const u8, size: usize, out: *[32]u8) void {
    std.crypto.hash.sha2.Sha256.hash(bytes[0..size], out, .{});
}
