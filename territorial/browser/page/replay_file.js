"use strict";
// Files of replays, as docs/replay_format.md specifies them, and digests of positions; both need blake2b.

const REPLAY_MAGIC = [0x89, 0x54, 0x47, 0x52, 0x0d, 0x0a, 0x1a, 0x0a], REPLAY_VERSION = 1;
const MOST_IN_BODY = 24 * 2 ** 20; // bytes, `MAX_BODY` of replay/file_format.py
const LAUNCH_PLANES = 7, CHECKPOINT_BYTES = 12;
const SEEDS_AS_TEXT = /"(seed|map_seed)":"(\d+)"/g; // within strings there is a backslash before each quote

/**
 * Returns the bytes of the file of a replay; `pack` of replay/file_format.py.
 *
 * `header`: as `branchHeader` returns it; its two seeds are text, as numbers are exact to 2 ** 53 alone.
 * `land`: the bits of the map, Uint8Array. `launches`: {tick, seat, target, fraction}, those of a seat in the order of
 * ticks. `checkpoints`: {tick, digest}, Uint8Array (8); their ticks rise, and the last is the header's.
 */
async function replayBytes({ header, land, launches, checkpoints }) {
  const { num_players: players, decision_every: every } = header.config;
  const text = new TextEncoder().encode(JSON.stringify(header).replace(SEEDS_AS_TEXT, '"$1":$2'));
  const sections = [text, land, launchColumns(launches, players, every), checkpointTable(checkpoints)];
  const body = joined(sections.flatMap((section) => [wordOf(section.length), section]));
  if (body.length > MOST_IN_BODY) {
    throw new Error(`the replay takes ${count(body.length)} bytes; at most ${count(MOST_IN_BODY)} fit into a file`);
  }
  const packed = new Blob([body]).stream().pipeThrough(new CompressionStream("deflate"));
  const stream = new Uint8Array(await new Response(packed).arrayBuffer());
  const data = joined([REPLAY_MAGIC, [REPLAY_VERSION, 0], wordOf(body.length), stream]);
  return joined([data, blake2b(data, 8)]);
}

/**
 * Returns the header of a game that goes on from `tick` of a replay and ends, or is left, at tick `ticks`.
 *
 * `header`: of `replay_template` (browser/playable.py). `players`: {seat, player, name}, who plays the seats that
 * live at `tick` from there on, and what they are called if they take over; `_note_changes` of replay/recorder.py.
 */
function branchHeader(header, { tick, players, ticks, isOver }) {
  const before = (header.changes ?? []).filter(([at]) => at <= tick);
  const known = playersAt(header, tick), names = [...header.names];
  const others = players.filter(({ seat, player }) => known[seat - 1] !== player);
  for (const { seat, name } of others) names[seat - 1] = name;
  const changes = [...before, ...others.map(({ seat, player }) => [tick, seat, player])];
  return { ...header, names, changes: changes.length ? changes : undefined, ticks, over: isOver };
}

/** Returns who plays each seat at a tick; `players_at` of replay/recorded.py. */
function playersAt({ seats, changes = [] }, tick) {
  const found = [...seats];
  for (const [at, seat, player] of changes) if (at <= tick) found[seat - 1] = player;
  return found;
}

/** Returns launches seat by seat, in planes of bytes; `pack_launches` of replay/file_format.py. */
function launchColumns(launches, players, every) {
  const bySeat = Array.from({ length: players }, () => []);
  for (const launch of launches) bySeat[launch.seat - 1].push(launch);
  const heads = bySeat.map((own) => wordOf(own.length)), planes = new Uint8Array(LAUNCH_PLANES * launches.length);
  let place = 0;
  for (const own of bySeat) {
    let before = 0;
    for (const { tick, target, fraction } of own) {
      const decision = Math.floor(tick / every), [low, high] = wordOf(fraction - 1);
      const bytes = [...wordOf(decision - before), target, low, high];
      bytes.forEach((byte, plane) => { planes[plane * launches.length + place] = byte; });
      before = decision;
      place++;
    }
  }
  return joined([...heads, planes]);
}

/** `pack_checkpoints` of replay/file_format.py. */
function checkpointTable(checkpoints) {
  const table = new Uint8Array(CHECKPOINT_BYTES * checkpoints.length);
  checkpoints.forEach(({ tick, digest }, n) => table.set([...wordOf(tick), ...digest], CHECKPOINT_BYTES * n));
  return table;
}

/** Returns a number below 2 ** 32 as four bytes, the lowest first. */
const wordOf = (number) => Uint8Array.of(number, number >>> 8, number >>> 16, number >>> 24);

/** Returns lists of bytes as one. */
function joined(parts) {
  const all = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let place = 0;
  for (const part of parts) {
    all.set(part, place);
    place += part.length;
  }
  return all;
}

// ---- digests -------------------------------------------------------------------------------------------

/**
 * Returns the 8 bytes that name a position; `digest` of game/state.py.
 *
 * `seed`: BigInt. The rest is `Position` there: `board`, Uint8Array, (height + 2) x (width + 2) owner codes with a ring
 * of walls around them, and `numbers`, BigInt64Array.
 */
function digestOf(seed, { board, height, width, numbers }) {
  const cells = new Uint8Array(height * width);
  for (let row = 0; row < height; row++) {
    const first = (row + 1) * (width + 2) + 1;
    cells.set(board.subarray(first, first + width), row * width);
  }
  const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
  const seedBytes = new Uint8Array(BigUint64Array.of(seed).buffer);
  return blake2b(joined([bytes.subarray(0, 8), seedBytes, cells, bytes.subarray(8)]), 8);
}

const BLAKE_BLOCK = 128, BLAKE_ROUNDS = 12; // bytes, and rounds for each block; RFC 7693
const BLAKE_START = new Uint32Array(BigUint64Array.of(
  0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
).buffer); // words of 64 bits as halves, the low one first, as arithmetic with BigInts is slow
const BLAKE_ORDERS = [ // of the words of a block, in hexadecimal digits, by round
  "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
  "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0",
].map((digits) => Array.from(digits, (digit) => 2 * parseInt(digit, 16)));
const BLAKE_LANES = Array.from({ length: 8 }, (_, n) => // of a square of words: its columns, then its diagonals
  [0, 1, 2, 3].map((row) => 2 * (4 * row + ((n + (n >> 2) * row) & 3))));

/** Returns the blake2b digest of bytes, `size` bytes long, 1 to 64, as `hashlib` has it. */
function blake2b(bytes, size) {
  const blocks = Math.max(1, Math.ceil(bytes.length / BLAKE_BLOCK)), padded = new Uint8Array(blocks * BLAKE_BLOCK);
  padded.set(bytes);
  const words = new Uint32Array(padded.buffer), hash = BLAKE_START.slice();
  hash[0] ^= 0x01010000 | size;
  for (let n = 1; n <= blocks; n++) {
    const block = words.subarray(32 * (n - 1), 32 * n);
    compressBlock(hash, block, Math.min(bytes.length, n * BLAKE_BLOCK), n === blocks);
  }
  return new Uint8Array(hash.buffer).slice(0, size);
}

/** Mixes a block into `hash`; `length`: bytes up to its end, below 2 ** 32. */
function compressBlock(hash, block, length, isLast) {
  const v = new Uint32Array(32);
  v.set(hash);
  v.set(BLAKE_START, 16);
  v[24] ^= length;
  if (isLast) {
    v[28] = ~v[28];
    v[29] = ~v[29];
  }
  for (let round = 0; round < BLAKE_ROUNDS; round++) {
    const order = BLAKE_ORDERS[round % BLAKE_ORDERS.length];
    for (let n = 0; n < 8; n++) {
      const [a, b, c, d] = BLAKE_LANES[n], x = order[2 * n], y = order[2 * n + 1];
      addWord(v, a, v[b], v[b + 1]);
      addWord(v, a, block[x], block[x + 1]);
      turnXor(v, d, a, 32);
      addWord(v, c, v[d], v[d + 1]);
      turnXor(v, b, c, 24);
      addWord(v, a, v[b], v[b + 1]);
      addWord(v, a, block[y], block[y + 1]);
      turnXor(v, d, a, 16);
      addWord(v, c, v[d], v[d + 1]);
      turnXor(v, b, c, 63);
    }
  }
  for (let n = 0; n < 16; n++) hash[n] ^= v[n] ^ v[n + 16];
}

/** Adds a word of 64 bits to the one at `place`. */
function addWord(v, place, low, high) {
  const sum = v[place] + low;
  v[place] = sum;
  v[place + 1] += high + (sum >= 2 ** 32);
}

/** Makes the word at `place` the exclusive or of it and the one at `other`, turned right by 16, 24, 32 or 63 bits. */
function turnXor(v, place, other, bits) {
  const first = v[place] ^ v[other], second = v[place + 1] ^ v[other + 1], rest = bits % 32;
  const low = bits < 32 ? first : second, high = bits < 32 ? second : first;
  v[place] = rest ? (low >>> rest) | (high << (32 - rest)) : low;
  v[place + 1] = rest ? (high >>> rest) | (low << (32 - rest)) : high;
}
