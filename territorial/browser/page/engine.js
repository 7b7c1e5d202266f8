// The engine in the page: the kernels of the library web.wasm, on the memory that territorial/browser/page_image.py made.

const ARRAYS = { bool: Uint8Array, uint8: Uint8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array, uint64: BigUint64Array };
const WASM_PAGE = 65536; // bytes
const CALLED = 2n; // the state of a thread that is to begin, see territorial/jit/thread_pool.py
const HOLDS_ALL = -1n; // the target of a seat that is driven by owner codes and holds
const FINE = [0, -2]; // what kernels return that came to their end

/** Returns the bytes of a text in base64, decompressed. */
async function unpacked(text) {
  const packed = new Blob([bytesOf(text)]);
  return new Uint8Array(await new Response(packed.stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
}

/** A game in memory, as it stands. */
class Engine {
  #exports;
  #memory;

  /** Returns an engine for a game as a page has it; throws where the browser has no 64-bit memory for WebAssembly. */
  static async open({ library, memory, ...about }) {
    const { instance } = await WebAssembly.instantiate(await unpacked(library), {});
    return new Engine(instance.exports, await unpacked(memory), about);
  }

  constructor(exports, image, about) {
    Object.assign(this, about); // config, rules, arrays, calls, codes ...
    this.#exports = exports;
    this.#memory = exports.memory;
    const missing = Math.ceil(about.size / WASM_PAGE) - this.#memory.buffer.byteLength / WASM_PAGE;
    if (missing > 0) this.#memory.grow(BigInt(missing));
    this.bytes = new Uint8Array(this.#memory.buffer, about.base, about.size - about.base);
    this.bytes.set(image);
    const memory = new DataView(this.#memory.buffer), addresses = about.entries.map((symbol) => exports[`${symbol}_address`].value);
    this.field("entries").set(addresses.map((address) => memory.getBigInt64(Number(address), true)));
    this.image = this.save(); // at tick 0 of the game that the page came with
  }

  /** Returns the memory of an array: of a field of the game, or of what kernels are given. */
  field(name) {
    const { at, dtype, shape } = this.arrays[name];
    return new ARRAYS[dtype](this.#memory.buffer, at, shape.reduce((product, one) => product * one, 1));
  }

  get tick() { return Number(this.field("tick")[0]); }
  get isOver() { return this.field("over")[0] !== 0n; }
  isAlive(seat) { return this.field("alive")[seat] !== 0n; }
  isDriven(seat) { return this.field("seats")[seat] === BigInt(this.codes.page); }

  /** Returns the seats that the page drives. */
  driven() { return [...this.field("seats").keys()].filter((seat) => seat && this.isDriven(seat)); }

  /** Plays one decision; `launches` are those of seats that the page drives: {seat, target, fraction}. */
  step(launches) {
    const actions = this.field("actions");
    for (let at = 0; at < actions.length; at += 2) [actions[at], actions[at + 1]] = [HOLDS_ALL, 0n];
    for (const { seat, target, fraction } of launches) actions.set([BigInt(target), BigInt(fraction)], 2 * (seat - 1));
    for (const asks of this.has_networks ? [1, 0] : [0]) { // first the networks, then all
      this.field("asks")[0] = asks;
      const queues = this.field("queues");
      queues[0] = queues[2];
      this.field("thread_state")[0] = CALLED;
      this.#call("step_games");
    }
  }

  /** Returns what all seats launched in the last step: {tick, seat, target, fraction}; only what is legal if `isLegal`. */
  launched(tick, isLegal = false) {
    const names = ["target", "fraction", "legal"];
    const [targets, fractions, legal] = names.map((name) => this.field(`launched.${name}`));
    const found = Array.from(targets, (target, n) => ({ tick, seat: n + 1, target, fraction: fractions[n] }));
    return found.filter(({ target }, n) => target >= 0 && (legal[n] || !isLegal));
  }

  /** Lets other players go on, by seat: "page" is driven by `step`, others are codes. One that sits there already goes on. */
  seat(players) {
    const codes = this.field("codes").fill(-1n), seats = this.field("seats"), memory = this.field("memory");
    const { page, interval } = this.codes, settings = memory.length / seats.length;
    for (const [seat, player] of players) {
      const code = BigInt(player === "page" ? page : player);
      if (code !== seats[seat]) codes[seat] = code;
      if (code === BigInt(page)) memory[seat * settings + interval] = 1;
    }
    this.#call("seat_players");
  }

  /** Has the next game begin on another map: the bits of its land, as replays have them. */
  #lay(land) {
    const planes = this.field("bank.planes").fill(0n), [, , rows] = this.arrays["bank.planes"].shape;
    const bytes = new Uint8Array(planes.buffer, planes.byteOffset, planes.byteLength), stride = Math.ceil(this.config.width / 8);
    let cells = 0n;
    land.forEach((byte, at) => {
      const row = Math.floor(at / stride), column = at % stride; // of bytes, eight of which are a strip
      bytes[8 * ((column >> 3) * rows + row + 1) + (column & 7)] = byte;
      for (let bits = byte; bits; bits &= bits - 1) cells++;
    });
    this.field("bank.num_land")[0] = cells;
  }

  /** Begins another game: a map, a seed, and the codes and starting troops of all seats; returns the memory at its tick 0. */
  begin(land, seed, codes, troops) {
    const { page } = this.codes, words = this.calls.reset_game.words;
    this.restore(this.image);
    this.#lay(land);
    codes.forEach((code, index) => {
      this.field("next_seats")[index + 1] = BigInt(code);
      this.field("next_troops")[index + 1] = BigInt(troops[index]);
      this.field("next_interval")[index + 1] = code === page ? 1n : 0n;
    });
    new BigUint64Array(this.#memory.buffer, words, 2)[1] = BigInt(seed);
    this.#call("reset_game");
    return this.save();
  }

  /** Returns the position: the owner codes of all cells, row by row, and the numbers. */
  position() {
    this.#call("position_of");
    const { height, width } = this.config, board = this.field("board"), cells = new Uint8Array(height * width);
    for (let row = 0; row < height; row++) cells.set(board.subarray((row + 1) * (width + 2) + 1).subarray(0, width), row * width);
    return { cells, numbers: this.field("numbers") };
  }

  /** Returns the form "pairs" of a seat: its rows, their owners, and the numbers as whole ones of 4096ths. */
  pairs(seat) {
    this.field("seen.seat")[0] = BigInt(seat);
    this.#call("observe_pairs");
    const [candidates, allies, targets, own, pairs] = ["candidates", "allies", "targets", "own", "pairs"].map((name) => this.field(`seen.${name}`));
    const codes = [...candidates, ...allies], rows = [...codes.keys()].filter((row) => targets[row]);
    return { rows, owners: rows.map((row) => Number(codes[row])), own, pairs };
  }

  save() { return this.bytes.slice(); }
  restore(saved) { this.bytes.set(saved); }

  /** Returns what `look` returns of the game as it stands, which stays as it is. */
  aside(look) {
    const saved = this.save();
    try {
      return look();
    } finally {
      this.restore(saved);
    }
  }

  #call(kernel) {
    const { symbol, words } = this.calls[kernel], status = this.#exports[symbol](BigInt(words));
    if (!FINE.includes(status)) throw new Error(`the kernel ${kernel} failed with status ${status}`);
  }
}
