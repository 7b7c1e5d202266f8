// Films: what territorial/browser/film.py writes, in the format of docs/watching.md, read as the bytes arrive.

const FILM_VERSION = 5, NEUTRAL = 0, BLOCKED = 255;

/** One block of a film as numbers, from the first to the last. */
class Numbers {
  constructor(bytes) { this.bytes = bytes; this.at = 0; }

  next() {
    let number = 0, unit = 1;
    for (;;) {
      if (this.at >= this.bytes.length) throw new Error("a block of the film ends within a number");
      const byte = this.bytes[this.at++];
      number += (byte & 127) * unit; // no shifts: those have 32 bits
      if (byte < 128) return number;
      unit *= 128;
    }
  }

  nextSigned() {
    const number = this.next();
    return number % 2 ? -(number + 1) / 2 : number / 2;
  }

  /** Returns what `read` returns, as often as the next number says. */
  nextList(read) { return Array.from({ length: this.next() }, read); }
}

/** Returns the bytes of a text in base64. */
const bytesOf = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));

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

/** Returns the blocks that `bytes` begin with, and the rest, in which the next block is not complete. */
function blocksIn(bytes) {
  const blocks = [];
  let start = 0;
  for (;;) {
    const rest = new Numbers(bytes.subarray(start)), hasLength = rest.bytes.some((byte) => byte < 128);
    const length = hasLength ? rest.next() : Infinity, end = start + rest.at + length;
    if (end > bytes.length) return { blocks, rest: bytes.slice(start) };
    blocks.push(bytes.subarray(end - length, end));
    start = end;
  }
}

/** A game as far as it has arrived: one entry a frame in `ticks`, `land`, `troops`, `alive`, `attacks`, `gifts`. */
class Film {
  header = null;
  isComplete = false;
  ticks = [];
  land = [];    // Int32Array by owner code: cells
  troops = [];  // Float64Array by seat, 0 unused
  alive = [];   // Uint8Array by seat, 0 unused
  attacks = []; // lists of {seat, target, troops, cells}: in the field, and taken since the frame before
  gifts = [];   // lists of {seat, target, troops}: given to allies since the frame before
  launches = []; // by seat: {tick, target, fraction} in the order of ticks; not by frame
  teams = [];   // of a game with allies: {team, seats, name}
  diedAt = [];  // by seat: the tick at which it died, or undefined
  #rest = new Uint8Array(0); // of the bytes: a block that is not complete
  #changes = [];  // by frame: cells and their new owners
  #keys = [];     // whole boards, so far apart that as many cells changed between as a board has
  #sinceKey = 0;
  #board = null;  // of the last frame
  #land = new Int32Array(256); // of the last frame
  #pools = new Map(); // of the last frame

  get length() { return this.ticks.length; }
  get lastTick() { return this.length ? this.ticks[this.length - 1] : 0; }

  /** Takes the next bytes, decompressed. */
  push(bytes) {
    const { blocks, rest } = blocksIn(joined([this.#rest, bytes]));
    this.#rest = rest;
    for (const block of blocks) {
      if (!this.header) this.#begin(JSON.parse(new TextDecoder().decode(block)));
      else if (!block.length) this.isComplete = true;
      else this.#add(new Numbers(block));
    }
  }

  #begin(header) {
    if (header.format !== "territorial-film" || header.version !== FILM_VERSION) {
      throw new Error(`this page shows films of version ${FILM_VERSION}, and this is ${header.format} ${header.version}`);
    }
    this.header = header;
    this.numCells = header.height * header.width;
    this.#formTeams();
    this.#board = new Uint8Array(this.numCells);
    this.#land[NEUTRAL] = this.numCells;
    this.#sinceKey = this.numCells;  // the first frame becomes a key
  }

  #formTeams() {
    this.teams = [];
    for (const [index, team] of (this.header.teams ?? []).entries()) {
      this.teams[team - 1] ??= { team, seats: [], name: `team ${team}` };
      this.teams[team - 1].seats.push(index + 1);
    }
  }

  #add(numbers) {
    const seats = this.header.num_players, next = () => numbers.next();
    const alive = this.alive.at(-1)?.slice() ?? new Uint8Array(seats + 1);
    const troops = this.troops.at(-1)?.slice() ?? new Float64Array(seats + 1);
    const tick = this.lastTick + next();
    for (const [seat, age] of numbers.nextList(() => [next(), next()])) {
      alive[seat] ^= 1;
      this.diedAt[seat] = alive[seat] ? undefined : tick - age;
    }
    for (let seat = 1; seat <= seats; seat++) troops[seat] += numbers.nextSigned();
    const changes = this.#take(numbers);
    this.#takePools(numbers);
    const giftOf = () => ({ seat: next(), target: next(), troops: next() });
    const gifts = this.header.teams ? numbers.nextList(giftOf) : [];
    for (const [age, seat, target, fraction] of numbers.nextList(() => [next(), next(), next(), next()])) {
      (this.launches[seat] ??= []).push({ tick: tick - age, target, fraction });
    }
    this.#keep({ tick, alive, troops, changes, gifts });
  }

  /** Adds a frame, to which the board, the pools and the launches have come. */
  #keep({ tick, alive, troops, changes: { cells, codes, taken }, gifts }) {
    const index = this.length;
    this.#changes.push({ cells: Uint32Array.from(cells), codes: Uint8Array.from(codes) });
    this.attacks.push(this.#attacks(index ? taken : new Map()));
    this.ticks.push(tick);
    this.alive.push(alive);
    this.troops.push(troops);
    this.land.push(this.#land.slice());
    this.gifts.push(gifts);
    this.#sinceKey += cells.length;
    if (this.#sinceKey < this.numCells) return;
    this.#keys.push({ index, board: this.#board.slice() });
    this.#sinceKey = 0;
  }

  /** Reads who gained which cells, and plays it on the board; returns what has changed, as `#change` notes it. */
  #take(numbers) {
    const { width } = this.header, changes = { cells: [], codes: [], taken: new Map() };
    let row = 0, column = 0;
    for (const [code, runs] of numbers.nextList(() => [numbers.next(), numbers.next()])) {
      for (let n = 0; n < runs; n++) {
        row += numbers.nextSigned();
        column += numbers.nextSigned();
        const first = row * width + column, end = first + numbers.next();
        for (let cell = first; cell < end; cell++) this.#change(cell, code, changes);
      }
    }
    return changes;
  }

  /** Gives a cell another owner, and notes that everywhere: in `taken` by pool. */
  #change(cell, code, { cells, codes, taken }) {
    const before = this.#board[cell];
    this.#land[before]--;
    this.#land[code]++;
    if (code !== NEUTRAL && code !== BLOCKED) {
      const pool = (code - 1) * (this.header.num_players + 1) + before;
      taken.set(pool, (taken.get(pool) ?? 0) + 1);
    }
    this.#board[cell] = code;
    cells.push(cell);
    codes.push(code);
  }

  /** Reads which troops in the field have changed. */
  #takePools(numbers) {
    let pool = 0;
    for (const [step, change] of numbers.nextList(() => [numbers.next(), numbers.nextSigned()])) {
      pool += step;
      const troops = (this.#pools.get(pool) ?? 0) + change;
      if (troops) this.#pools.set(pool, troops);
      else this.#pools.delete(pool);
    }
  }

  /** Returns the attacks of a frame before which the cells `taken` have been taken, by pool. */
  #attacks(taken) {
    const owners = this.header.num_players + 1, pools = new Set([...this.#pools.keys(), ...taken.keys()]);
    return Array.from(pools, (pool) => ({
      seat: Math.floor(pool / owners) + 1,
      target: pool % owners,
      troops: this.#pools.get(pool) ?? 0,
      cells: taken.get(pool) ?? 0,
    }));
  }

  /** Forgets all after a frame, where the game goes on in another way; `header` has what is changed in it. */
  cut(frame, header) {
    const length = frame + 1, until = this.ticks[frame];
    for (const list of [this.ticks, this.land, this.troops, this.alive, this.attacks, this.gifts, this.#changes]) list.length = length;
    this.launches = this.launches.map((launches) => launches.filter(({ tick }) => tick < until));
    this.diedAt = this.diedAt.map((tick, seat) => (this.alive[frame][seat] ? undefined : tick));
    this.move(this.#board, -1, frame);
    this.#land.set(this.land[frame]);
    this.#keys = this.#keys.filter(({ index }) => index <= frame);
    const owners = this.header.num_players + 1, inField = this.attacks[frame].filter(({ troops }) => troops);
    this.#pools = new Map(inField.map(({ seat, target, troops }) => [(seat - 1) * owners + target, troops]));
    const { chances } = this.header, ticks = chances?.ticks.filter((tick) => tick <= until); // the rest is of another game
    Object.assign(this, { header: { ...this.header, ...header, chances: chances && { ...chances, ticks } }, isComplete: false });
    this.#formTeams();
  }

  /** Returns a film that begins with a frame, as `append` takes it. */
  static of(header, first) {
    const film = new Film();
    film.#begin(header);
    film.append(first);
    return film;
  }

  /**
   * Adds a frame: `owner`, the codes of all cells; by seat, 0 unused, `troops`, `alive` and `diedAt`; `pools`, by (seat, owner
   * code); and since the frame before `launches`, {tick, seat, target, fraction}, and `gifts`, {seat, target, troops}.
   */
  append({ tick, owner, troops, alive, diedAt, pools, launches, gifts }) {
    const owners = this.header.num_players + 1, changes = { cells: [], codes: [], taken: new Map() };
    owner.forEach((code, cell) => {
      if (code !== this.#board[cell]) this.#change(cell, code, changes);
    });
    this.#pools = new Map(pools.flatMap((amount, at) => (amount && at >= owners ? [[at - owners, amount]] : [])));
    for (const { seat, ...launch } of launches) (this.launches[seat] ??= []).push(launch);
    alive.forEach((lives, seat) => { if (seat && !lives) this.diedAt[seat] ??= diedAt[seat]; });
    this.#keep({ tick, alive: Uint8Array.from(alive), troops: Float64Array.from(troops), changes, gifts });
  }

  /** Returns the frame that shows `tick`: the last one that is not after it. */
  frameAt(tick) { return Math.max(0, this.ticks.findLastIndex((one) => one <= tick)); }

  /** Makes `board`, which shows frame `from` (-1: none), show frame `to`. */
  move(board, from, to) {
    const key = this.#keys.findLast((key) => key.index <= to);
    if (to < from || key.index > from) {
      board.set(key.board);
      from = key.index;
    }
    for (let index = from + 1; index <= to; index++) {
      const { cells, codes } = this.#changes[index];
      for (let n = 0; n < cells.length; n++) board[cells[n]] = codes[n];
    }
  }

  /** Returns all seats in the order of the standings at `frame`; allies stand together. */
  standings(frame) {
    if (this.teams.length) return this.teamStandings(frame).flatMap(({ seats }) => this.#ordered(seats, frame));
    return this.#ordered(Array.from(this.troops[frame].keys()).slice(1), frame);
  }

  /** Returns the teams, the first on top: {team, seats, name, land, troops, left}; `left` members live. */
  teamStandings(frame) {
    const sum = (seats, values) => seats.reduce((total, seat) => total + values[seat], 0);
    const teams = this.teams.map((team) => ({
      ...team,
      land: sum(team.seats, this.land[frame]),
      troops: sum(team.seats, this.troops[frame]),
      left: sum(team.seats, this.alive[frame]),
    }));
    const out = ({ team, left }) => (left ? Infinity : this.outAt(team));
    return teams.sort((a, b) => out(b) - out(a) || b.land - a.land || b.troops - a.troops || a.team - b.team);
  }

  /** Returns the tick in which the last member of a team died; it has died. */
  outAt(team) { return Math.max(...this.teams[team - 1].seats.map((seat) => this.diedAt[seat] ?? 0)); }

  #ordered(seats, frame) {
    const land = this.land[frame], troops = this.troops[frame], alive = this.alive[frame];
    const died = (seat) => (alive[seat] ? Infinity : this.diedAt[seat] ?? 0);
    return [...seats].sort((a, b) => died(b) - died(a) || land[b] - land[a] || troops[b] - troops[a] || a - b);
  }

  name(seat) { return `P${seat} ${this.header.names[seat - 1]}`; }

  /** Returns the team 1..N of a seat, 0 in a game without allies. */
  teamOf(seat) { return this.header.teams?.[seat - 1] ?? 0; }

  /** Returns whether two owner codes are two seats of one team. */
  areAllies(a, b) { return a !== b && this.teamOf(a) > 0 && this.teamOf(a) === this.teamOf(b); }

  /** Returns whoever wins, or leads, with a seat: its team, or it alone. */
  sideName(seat) { return this.teams[this.teamOf(seat) - 1]?.name ?? this.name(seat); }

  /** Returns the land of the side of a seat at `frame`, in cells. */
  sideLand(seat, frame) {
    const seats = this.teams[this.teamOf(seat) - 1]?.seats ?? [seat];
    return seats.reduce((total, one) => total + this.land[frame][one], 0);
  }

  /** Returns the density of a seat at `frame`, as `densityOf` does. */
  density(seat, frame) { return densityOf(this.troops[frame][seat], this.land[frame][seat]); }

  /** Returns the donations since `ticks` before `frame`, summed by giver and receiver, the last of them first. */
  recentGifts(frame, ticks) {
    const found = new Map();
    for (let at = frame; at >= 0 && this.ticks[frame] - this.ticks[at] < ticks; at--) {
      for (const { seat, target, troops } of this.gifts[at]) {
        const key = 256 * seat + target, gift = found.get(key) ?? { seat, target, troops: 0, tick: this.ticks[at] };
        gift.troops += troops;
        found.set(key, gift);
      }
    }
    return [...found.values()];
  }
  get numLand() { return this.numCells - this.land[0][BLOCKED]; }
}

/** Fills `film` from the page itself, or from where the page came from; calls `arrived` now and then. */
async function load(film, arrived) {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser cannot decompress; Chrome 97, Firefox 113, Safari 16.4 and later can");
  }
  const reader = (await openFilm()).pipeThrough(new DecompressionStream("deflate")).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    film.push(value);
    arrived();
  }
  if (!film.isComplete) throw new Error("the film breaks off");
}

/** Returns the compressed bytes as a stream. */
async function openFilm() {
  const embedded = document.getElementById("film").textContent.trim();
  if (embedded) return new Blob([bytesOf(embedded)]).stream();
  const response = await fetch("film", { cache: "no-store" });
  if (!response.ok) throw new Error(`the server answers ${response.status} ${response.statusText}`);
  return response.body;
}
