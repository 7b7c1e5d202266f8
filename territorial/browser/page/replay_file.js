// Files of replays, as docs/replay_format.md specifies them, written and read, and digests of positions.

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

// ---- reading -------------------------------------------------------------------------------------------

const MOST_READ = 2 ** 23, MOST_IN_HEADER = 2 ** 18, MOST_GROWTH = 2 ** 16; // bytes: a checksum takes up to 0.1 s a MiB
const UNPACKED_AT_ONCE = 4096; // bytes, of which at most a thousandfold comes
const NUMBERS_AS_TEXT = /"(seed|map_seed)":\s*(\d+)(?=\s*[,}])/g;
const LONGEST_NAME = 64, LARGEST_SEED = 2n ** 64n - 1n, MOST_TROOPS = 1_000_000;

/**
 * Returns what a file, a Blob, says of a replay: {header, land, launches, checkpoints}, as `replayBytes` takes them.
 *
 * Throws an Error with the reason where it is none, or none of the rules, size and players that `template`, a header,
 * has. Nothing is unpacked that is longer than such a game can be.
 */
async function readReplay(file, template) {
  const { config } = template, decisions = Math.ceil(config.max_ticks / config.decision_every);
  const most = Math.min(MOST_READ, MOST_IN_HEADER + landBytes(config) + launchBytes(config, decisions) + CHECKPOINT_BYTES * (config.max_ticks + 1) + 16);
  check(file.size <= most + MOST_GROWTH, `it has ${count(file.size)} bytes; a replay of a game of this page has at most ${count(most + MOST_GROWTH)}`);
  const data = new Uint8Array(await file.arrayBuffer()), words = new DataView(data.buffer), end = data.length - 8;
  check(REPLAY_MAGIC.every((byte, at) => data[at] === byte), "it is no replay: its first bytes are not those of one");
  check(end > 14, `it is cut short: it has ${data.length} bytes`);
  const version = words.getUint16(8, true), length = words.getUint32(10, true);
  check(version === REPLAY_VERSION, `it has version ${version} of the format; this page reads version ${REPLAY_VERSION}`);
  check(blake2b(data.subarray(0, end), 8).every((byte, at) => byte === data[end + at]), "it is cut short or altered: its checksum does not match");
  check(length <= most, `it claims ${count(length)} bytes of contents; a replay of a game of this page has at most ${count(most)}`);
  const [text, land, launches, checkpoints] = sectionsOf(await inflated(data.subarray(14, end), length));
  const header = headerOf(text, template), { ticks } = header;
  checkLand(land, config);
  return { header, land, launches: launchesOf(launches, config, ticks), checkpoints: checkpointsOf(checkpoints, ticks) };
}

function fail(reason) { throw new Error(reason); }

/** Fails with a reason unless something holds. */
function check(holds, reason) {
  if (!holds) fail(reason);
}

const landBytes = ({ height, width }) => height * Math.ceil(width / 8);
const launchBytes = ({ num_players: players }, decisions) => 4 * players + LAUNCH_PLANES * players * decisions;
const isWhole = (value, least, most) => Number.isInteger(value) && value >= least && value <= most;
const isName = (value) => typeof value === "string" && isPrintable(value) && [...value].length <= LONGEST_NAME;
const isPrintable = (text) => text.length > 0 && !/[\p{C}\p{Z}]/u.test(text.replaceAll(" ", ""));

/** Returns a value as an error names it. */
const asText = (value) => String(JSON.stringify(value)).slice(0, 60);

/** Returns what compressed bytes hold, which must be `length` bytes. */
async function inflated(packed, length) {
  const all = new Uint8Array(length);
  let at = 0, filled = 0;
  const pieces = new ReadableStream({ pull: (to) => {
    if (at < packed.length) to.enqueue(packed.slice(at, at += UNPACKED_AT_ONCE));
    else to.close();
  } });
  try {
    for await (const piece of pieces.pipeThrough(new DecompressionStream("deflate"))) {
      filled += piece.length;
      if (filled > length) break;
      all.set(piece, filled - piece.length);
    }
  } catch (error) {
    fail(`it cannot be decompressed: ${error.message}`);
  }
  check(filled === length, `it does not hold the ${count(length)} bytes of contents that it claims`);
  return all;
}

/** Returns the four sections of a body. */
function sectionsOf(body) {
  const words = new DataView(body.buffer), sections = [];
  let at = 0;
  for (const name of ["header", "land", "launches", "checkpoints"]) {
    const size = at + 4 <= body.length ? words.getUint32(at, true) : Infinity;
    check(at + 4 + size <= body.length, `it ends within its ${name}`);
    sections.push(body.subarray(at + 4, at += 4 + size));
  }
  check(at === body.length, `it has ${count(body.length - at)} bytes after its last section`);
  return sections;
}

/** Returns the header in a section as games of this page have it: what else it says is left out. */
function headerOf(section, template) {
  check(section.length <= MOST_IN_HEADER, `its header has ${count(section.length)} bytes; at most ${count(MOST_IN_HEADER)} are read`);
  let header;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(section).replace(NUMBERS_AS_TEXT, '"$1":"$2"'));
  } catch (error) {
    fail(`its header is no JSON: ${error.message.slice(0, 80)}`);
  }
  check(header?.rules === template.rules, `it was played by version ${asText(header?.rules)} of the rules; this page plays version ${template.rules}`);
  checkConfig(header.config, template.config);
  const { config: { map_seed: mapSeed }, seed, seats, names, starting_troops: troops, changes, ticks, over, map_kind: kind, terrain, library, observations } = header;
  const players = template.config.num_players, isList = (list, fits) => Array.isArray(list) && list.length === players && list.every(fits);
  const isChange = ([tick, seat, name], n) => isWhole(tick, n ? changes[n - 1][0] : 0, ticks) && isWhole(seat, 1, players) && isName(name);
  const rules = {
    seed: [isSeed(seed), "a whole number from 0 to 2**64 - 1"],
    map_seed: [isSeed(mapSeed), "a whole number from 0 to 2**64 - 1"],
    seats: [isList(seats, isName), `${players} names`],
    names: [isList(names, isName), `${players} names`],
    starting_troops: [troops === undefined || isList(troops, (one) => isWhole(one, 1, MOST_TROOPS)), `${players} whole numbers from 1 to ${MOST_TROOPS}`],
    ticks: [isWhole(ticks, 0, template.config.max_ticks), `a whole number from 0 to ${template.config.max_ticks}`],
    over: [typeof over === "boolean" && (over || ticks % template.config.decision_every === 0), `true, or false at a decision, every ${template.config.decision_every} ticks`],
    map_kind: [kind === null || isName(kind), "a name or null"],
    library: [isName(library), "a name"],
    observations: [isWhole(observations, 0, 2 ** 31 - 1), "a whole number from 0"],
    terrain: [terrain === "water" || terrain === "mountains", "water or mountains"],
    changes: [changes === undefined || (Array.isArray(changes) && changes.every((one, n) => Array.isArray(one) && isChange(one, n))), "ticks that never fall, each with a seat and a name"],
  };
  for (const [name, [fits, wanted]] of Object.entries(rules)) check(fits, `its field ${name} is ${asText(name === "map_seed" ? mapSeed : header[name])}; it must be ${wanted}`);
  const config = { ...template.config, map_seed: mapSeed };
  return { ...template, config, seed, seats, names, starting_troops: troops, changes, ticks, over, map_kind: kind, terrain };
}

const isSeed = (value) => typeof value === "string" && /^\d{1,20}$/.test(value) && BigInt(value) <= LARGEST_SEED;

/** Fails unless a replay has the rules, the size and the number of players of a page; any map will do. */
function checkConfig(config, wanted) {
  check(config && typeof config === "object", `its field config is ${asText(config)}; it must be an object`);
  for (const name of new Set([...Object.keys(wanted), ...Object.keys(config)])) {
    const isSame = name === "map_seed" || asText(config[name]) === asText(wanted[name]);
    check(isSame, `its field ${name.slice(0, LONGEST_NAME)} is ${asText(config[name])}; games of this page have ${asText(wanted[name])}`);
  }
}

/** Fails unless the bits of a map are those of as many cells as games of the page have. */
function checkLand(land, config) {
  const { height, width } = config, stride = Math.ceil(width / 8), size = landBytes(config);
  check(land.length === size, `its land takes ${count(land.length)} bytes; ${height} x ${width} cells take ${count(size)}`);
  const isBeyond = land.some((byte, at) => (at + 1) % stride === 0 && width % 8 && byte >> (width % 8));
  check(!isBeyond, `its land has cells beyond the width ${width}`);
}

/** Returns the launches of a section, those of a seat in the order of ticks; `unpack_launches` of replay/file_format.py. */
function launchesOf(section, config, ticks) {
  const { num_players: players, decision_every: every } = config, words = new DataView(section.buffer, section.byteOffset, section.length);
  check(section.length >= 4 * players, "it ends within its launches");
  const counts = Array.from({ length: players }, (_, n) => words.getUint32(4 * n, true)), total = counts.reduce((sum, one) => sum + one, 0);
  check(section.length === 4 * players + LAUNCH_PLANES * total, `its launches take ${count(section.length)} bytes; ${count(total)} take ${count(4 * players + LAUNCH_PLANES * total)}`);
  const byte = (plane, at) => section[4 * players + plane * total + at], launches = [];
  counts.forEach((own, index) => {
    for (let n = 0, decision = 0; n < own; n++) {
      const at = launches.length, gap = byte(0, at) + 2 ** 8 * byte(1, at) + 2 ** 16 * byte(2, at) + 2 ** 24 * byte(3, at);
      decision += gap;
      const launch = { tick: decision * every, seat: index + 1, target: byte(4, at), fraction: byte(5, at) + 256 * byte(6, at) + 1 };
      const isThere = launch.tick < ticks && launch.target <= players && launch.fraction <= 1024;
      if (!isThere) fail(`its launch ${asText(launch)} cannot be: the game has ${count(ticks)} ticks, ${players} players and fractions to 1024`);
      if (n && !gap) fail(`its seat ${index + 1} launches more than once at tick ${launch.tick}; a decision is one launch at most`);
      launches.push(launch);
    }
  });
  return launches;
}

/** Returns the checkpoints of a section, {tick, digest}. */
function checkpointsOf(section, ticks) {
  const words = new DataView(section.buffer, section.byteOffset, section.length), number = section.length / CHECKPOINT_BYTES;
  check(Number.isInteger(number), `its checkpoints take ${count(section.length)} bytes; they take ${CHECKPOINT_BYTES} each`);
  const found = Array.from({ length: number }, (_, n) => CHECKPOINT_BYTES * n).map((at) => ({ tick: words.getUint32(at, true), digest: section.subarray(at + 4, at + CHECKPOINT_BYTES) }));
  const rises = found.every(({ tick }, n) => !n || tick > found[n - 1].tick);
  check(rises && found.at(-1)?.tick === ticks, `its checkpoints must rise up to tick ${count(ticks)}`);
  return found;
}

// ---- parts of a file -----------------------------------------------------------------------------------

/** Returns launches seat by seat, in planes of bytes; `pack_launches` of replay/file_format.py. */
function launchColumns(launches, players, every) {
  const bySeat = Array.from({ length: players }, (_, n) => launches.filter(({ seat }) => seat === n + 1));
  const rows = bySeat.flatMap((own) => own.map(({ tick, target, fraction }, n) => {
    const decisions = (tick - (own[n - 1]?.tick ?? 0)) / every, [low, high] = wordOf(fraction - 1);
    return [...wordOf(decisions), target, low, high];
  }));
  const planes = Array.from({ length: LAUNCH_PLANES }, (_, plane) => rows.map((row) => row[plane]));
  return joined([...bySeat.map((own) => wordOf(own.length)), ...planes]);
}

/** `pack_checkpoints` of replay/file_format.py. */
const checkpointTable = (checkpoints) => joined(checkpoints.flatMap(({ tick, digest }) => [wordOf(tick), digest]));

/** Returns a number below 2 ** 32 as four bytes, the lowest first. */
const wordOf = (number) => Uint8Array.of(number, number >>> 8, number >>> 16, number >>> 24);

// ---- digests -------------------------------------------------------------------------------------------

/** Returns the 8 bytes that name a position, see `Engine.position`; `digest` of game/state.py. */
function digestOf(seed, { cells, numbers }) {
  const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
  const seedBytes = new Uint8Array(BigUint64Array.of(BigInt(seed)).buffer);
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
