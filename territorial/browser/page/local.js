// A game that goes on in the page itself, from a moment of its film, in the place of a server and its session.

const LOCAL_PACE = 20; // ticks a second
const QUICK = 200; // ticks a second of a game that waits for decisions which nobody makes any more
const WORK_MS = 12; // after so much work the browser is let do other things
const NO_MEMORY = "This browser cannot play on: it has no 64-bit memory for WebAssembly, as Chrome and Firefox have";
const NOBODY = "Nobody decides at this moment.";
const SPAWN_CELLS = 12; // that every player begins with
const MOST_FRAMES = 2000; // of the film of a replay, as in territorial/browser/film.py
const MOST_DECISIONS = 30; // that a forecast looks ahead, as in territorial/engine/forecast.py

class LocalGame {
  #engine = null;
  #header = null; // of the first film
  #origin = null; // the game that is shown, at tick 0: its memory, header and land
  #changes = []; // who took over seats of it
  #told = 0;     // situations
  #timer = 0;
  #due = null;   // when the next decision is, milliseconds; null: it waits for a command
  #worked = 0; // when the browser could do other things last, milliseconds
  about = JSON.parse(element("engine").textContent); // what `playable` returns
  isBusy = false; // until the game of the last wish stands
  judged = null; // once the costliest launch of the last game that ended has been found, or given up

  constructor(page) { this.page = page; }

  /** Begins to play `seat` from `tick` on, a moment of the film; returns why that cannot be, or "". */
  takeOver(tick, seat) { return this.#alone(() => this.#takeOver(tick, seat)); }

  /** Begins a new game: a level, a map (both null: those of the page) and a seed (null: any). */
  begin(wish) { return this.#alone(() => this.#begin(wish)); }

  async #alone(work) {
    if (this.isBusy) return "Another game is being prepared.";
    if (!this.page.film.isComplete && !this.now) return "The film is still loading.";
    this.isBusy = true;
    clearTimeout(this.#timer);
    const before = this.now && this.#engine.save();
    try {
      const refused = (await this.#ready()) || (await work());
      if (refused && before) {
        this.#engine.restore(before);
        this.#plan();
      }
      return refused;
    } finally {
      this.isBusy = false;
    }
  }

  async #takeOver(tick, seat) {
    const { film } = this.page, frame = film.frameAt(tick);
    if (!film.alive[frame][seat]) return `${film.name(seat)} is out.`;
    if (tick % this.about.config.decision_every) return NOBODY;
    const changes = this.#changes.filter((change) => change.tick <= tick); // those of the last game after it are gone
    const recording = new Recording(this.#origin.memory, this.#launches, changes), engine = this.#engine;
    await this.#work(recording.playTo(engine, tick), { text: () => `Playing to tick ${count(tick)}: ${count(engine.tick)} ...` });
    recording.seat(engine);
    this.page.say("");
    if (engine.isOver) return NOBODY;
    if (film.troops[frame].some((troops, one) => one && troops !== Number(engine.field("troops")[one]))) {
      return "The game, played again, is not the one of the film.";
    }
    this.#sit(tick, seat, changes);
    this.page.branch(frame, { title: `You from tick ${count(tick)}`, names: this.header.names });
    this.#goOn(tick, seat, false);
    return "";
  }

  async #begin({ level, players, map, name: given, seed }) {
    const { card, line_ups: lineUps, person: seat, reserved } = this.about;
    const name = given.split(" ").filter(Boolean).join(" "), fault = nameFault(name, reserved);
    if (fault) return fault;
    if (players !== card.players) return `This page has games of ${card.players} players.`;
    const engine = this.#engine, { codes, troops, seats, names, title } = lineUps[level ?? ""], ground = await this.#groundOf(map);
    const number = seed ?? String(crypto.getRandomValues(new Uint32Array(1))[0] >>> 1);
    const memory = engine.begin(ground.land, number, codes.map((code, n) => (n + 1 === seat ? engine.codes.page : code)), troops);
    const called = names.map((one, n) => (n + 1 === seat ? name : one));
    const header = { ...engine.template.header, ...ground.header, seed: number, seats, names: called };
    this.#keep({ memory, header, land: ground.land }, []);
    this.page.showFilm(this.#filmOf({ title: `${title}, seed ${number}`, names: called, ...ground.look }));
    this.card = { ...card, level, map, name, seed: number };
    this.#goOn(0, seat, seed === null || Boolean(this.now));
    return "";
  }

  /** Gets the engine ready; returns why there is none, or "". */
  async #ready() {
    try {
      this.#engine ??= await Engine.open(this.about);
    } catch (error) {
      return `${NO_MEMORY} (${error.message}).`;
    }
    if (this.#origin) return "";
    const { image, template, changes } = this.#engine;
    this.#header = this.page.film.header;
    this.#keep({ memory: image, header: template.header, land: bytesOf(template.land) }, changes);
    return "";
  }

  /** From now on another game is shown. */
  #keep(origin, changes) {
    this.header = origin.header;
    this.#origin = origin;
    this.#changes = changes;
  }

  /** Returns a map by its name, null: that of the page: its land, and what headers of replays and films have of it. */
  async #groundOf(map) {
    const { card, maps, looks, template } = this.about, ground = map === card.map ? null : ownOf(maps, map);
    if (!ground) return { land: bytesOf(template.land) };
    return { land: await unpacked(ground.land), header: { map_kind: map, terrain: ground.terrain }, look: { map, ...looks[ground.terrain] } };
  }

  /** Returns a film that begins with the game as it stands; `header` has what it has of its own. */
  #filmOf(header) {
    const { teams } = this.#header, first = { ...this.#header, chances: undefined, play_on: undefined, ...header };
    const dealt = Array.from(this.#engine.field("team"), Number).slice(1), deal = (colors) => dealtColors(colors, teams, dealt);
    const ofTeams = teams && { teams: dealt, colors: deal(first.colors), border_colors: deal(first.border_colors) };
    return Film.of({ ...first, ...ofTeams }, frameOf(this.#engine));
  }

  // ---- replays -------------------------------------------------------------------------------------

  /** Shows the game of a file, from which on it can be played; returns why that cannot be, or "". */
  showReplay(file) { return this.#alone(() => this.#showReplay(file)); }

  async #showReplay(file) {
    const { page } = this;
    if (page.ownSeat && this.now.tick) return "You are playing; resign, or play to the end, to see another game.";
    try {
      const replay = await readReplay(file, this.about.template.header), { header, land } = replay;
      const changes = (header.changes ?? []).map(([tick, seat, name]) => ({ tick, seat, code: this.#codeOf(name), name }));
      const memory = this.#seated(replay), played = this.#played(replay, new Recording(memory, replay.launches, changes));
      const film = await this.#work(played, { text: () => `Playing the replay: tick ${count(this.#engine.tick)} of ${count(header.ticks)} ...` });
      this.now = null;
      page.start?.dialog.close();
      page.game?.watchAgain();
      this.#keep({ memory, header, land }, changes);
      page.showFilm(film);
      return "";
    } catch (error) {
      return `This file is not shown: ${error.message.replace(/\.$/, "")}.`;
    }
  }

  /** Returns the code of a player by its name: those that the page does not have make their recorded launches. */
  #codeOf(name) { return ownOf(this.about.bots, name) ?? this.#engine.codes.page; }

  /** Begins the game of a replay, and returns the memory at its tick 0. */
  #seated({ header: { seed, seats, starting_troops: given }, land }) {
    const engine = this.#engine, { troops, config } = this.about, cells = new Uint32Array(256);
    const codes = seats.map((name) => this.#codeOf(name)), usual = seats.map((name) => ownOf(troops, name) ?? config.starting_troops);
    const memory = engine.begin(land, seed, codes, given ?? usual);
    for (const code of engine.position().cells) cells[code]++;
    const isLaid = cells[NEUTRAL] === Number(engine.field("land")[NEUTRAL]); // no spawn lies on water, or on another one
    check(isLaid && seats.every((_, index) => cells[index + 1] === SPAWN_CELLS), `its land has no room for ${seats.length} players`);
    return memory;
  }

  /** Plays the game of a replay to its end; returns its film, or throws an Error where it is not the one that was recorded. */
  *#played({ header, checkpoints }, recording) {
    const engine = this.#engine, { seats, names, ticks, over, map_kind: kind, terrain, seed } = header, every = engine.config.decision_every;
    const film = this.#filmOf({ title: `${seats.length} players, seed ${seed}`, names, map: kind ?? "a map of its own", ...this.about.looks[terrain] });
    const digests = new Map(checkpoints.map(({ tick, digest }) => [tick, String(digest)]));
    const stride = every * Math.ceil(engine.config.max_ticks / every / MOST_FRAMES), since = { launches: [], gifts: [] };
    for (;;) {
      const { tick } = engine, wanted = digests.get(tick);
      check(!wanted || wanted === String(digestOf(seed, engine.position())), `the game, played again, differs at tick ${count(tick)}`);
      if (tick >= ticks || engine.isOver) break;
      const lives = engine.field("alive").slice(), done = this.#step(recording.decided(engine));
      const other = firstOther(recording.at(tick), done.launches, lives);
      if (other) fail(`seat ${other}, ${asText(playersAt(header, tick)[other - 1])}, launches otherwise than was recorded at tick ${count(tick)}`);
      for (const [name, list] of Object.entries(since)) list.push(...done[name]);
      if (engine.tick % stride === 0 || engine.isOver || engine.tick >= ticks) film.append(frameOf(engine, since.launches.splice(0), since.gifts.splice(0)));
      yield;
    }
    check(engine.tick === ticks && engine.isOver === over, `the game, played again, is ${engine.isOver ? "" : "not "}over at tick ${count(engine.tick)}; the recorded one was ${over ? "" : "not "}over at tick ${count(ticks)}`);
    recording.seat(engine);
    film.isComplete = true;
    return film;
  }

  /** Does work in slices, and says how far it is; returns its result, or null once it is not wanted. */
  async #work(steps, { text = null, isWanted = () => true }) {
    while (isWanted()) {
      const { done, value } = steps.next();
      if (done) return value;
      if (performance.now() - this.#worked < WORK_MS) continue;
      if (text) this.page.say(text());
      await new Promise((rested) => setTimeout(rested));
      this.#worked = performance.now();
    }
    return null;
  }

  // ---- going on from a moment ----------------------------------------------------------------------

  /** Shows the game as it is played from here on. */
  #goOn(tick, seat, goesOn) {
    this.#due = null;
    Object.assign(this, { seat, tick, pace: LOCAL_PACE, isPaused: !goesOn, queued: null, hasDecided: false, hasResigned: false, open: new Set(), aim: null, costliest: null });
    this.now = situationOf(this.#engine, seat);
    if (!this.game) {
      this.game = new Game(this.page, (hooks) => this.connect(hooks));
      element("ending").querySelector("a").addEventListener("click", async (event) => {
        event.preventDefault(); // there is no server that it could lead to
        saveAs(new Blob([await this.replay()]), this.fileName);
      });
    }
    this.game.resume();
  }

  /** The launches of the film, those of a seat in the order of ticks. */
  get #launches() { return this.page.film.launches.flatMap((of, seat) => of.map((launch) => ({ seat, ...launch }))); }

  /** Gives the seat to the person; the champion goes on for others that the page has driven so far. */
  #sit(tick, seat, changes) {
    const engine = this.#engine, { codes } = engine, names = [...this.#origin.header.names];
    for (const one of changes) if (one.player) names[one.seat - 1] = one.name; // those that took over here
    const before = { ...this.header, names }, known = playersAt(before, tick);
    const others = engine.driven().filter((one) => one !== seat && engine.isAlive(one));
    const sitting = [{ seat, code: "page", player: "agent", name: this.card?.name ?? "person" },
      ...others.map((one) => ({ seat: one, code: codes.champion, player: codes.champion_name, name: codes.champion_name }))]
      .filter((one) => known[one.seat - 1] !== one.player);
    engine.seat(sitting.map(({ seat: one, code }) => [one, code]));
    this.#changes = [...changes, ...sitting.map((one) => ({ tick, ...one }))];
    const players = sitting.sort((one, other) => one.seat - other.seat);
    this.header = branchHeader(before, { tick, players, ticks: tick, isOver: false });
  }

  // ---- as the connection to a server -----------------------------------------------------------------

  /** Takes where situations go to; see `ServerConnection`. */
  connect({ arrived }) {
    this.arrived = arrived;
    return this;
  }

  listen() {
    this.#tell();
    this.#plan();
  }

  async send(command) { return this.post(command); }

  async post(command) {
    if (command.do === "new") return this.begin(command);
    if (command.do === "take_over") return this.takeOver(command.tick, command.seat);
    const reason = this.#refusal(command);
    if (reason) return `${reason[0].toUpperCase()}${reason.slice(1)}.`;
    this.#do(command);
    this.#tell();
    this.#plan();
    return "";
  }

  #refusal({ do: what, target }) {
    if (this.isBusy) return "another game is being prepared";
    if (["aim", "pause", "pace", "show"].includes(what)) return "";
    if (this.hasResigned) return "you have resigned";
    return whyNot(this.now, this.seat, what === "launch" ? target : null);
  }

  #do(command) {
    const { do: what, target, share, panel } = command;
    if (what === "pause") this.isPaused = command.on;
    else if (what === "pace") [this.pace, this.#due] = [command.pace, null];
    else if (what === "aim") this.aim = { target, share };
    else if (what === "show") command.on ? this.open.add(panel) : this.open.delete(panel);
    else Object.assign(this, { queued: what === "launch" ? { target, share } : null, hasDecided: true, hasResigned: what === "resign" });
  }

  get #decides() { return this.now.is_alive && !this.now.is_over && !this.hasResigned; }

  get #interval() { return (1000 * this.#engine.config.decision_every) / (this.pace === "step" ? QUICK : this.pace); }

  /** Sees to it that the next decision is played in its time. */
  #plan() {
    clearTimeout(this.#timer);
    const wait = this.#wait();
    if (wait === null) return;
    this.#timer = setTimeout(() => {
      if (this.#due !== null) this.#due = Math.max(this.#due + this.#interval, performance.now()); // no haste to catch up
      this.#play();
      this.#plan();
    }, wait);
  }

  /** Returns the milliseconds to the next decision; null: there is none before a command. `_wait` of browser/session.py. */
  #wait() {
    const stands = this.now.is_over || this.isPaused;
    if (stands || (this.pace === "step" && this.#decides)) {
      this.#due = null;
      return stands || !this.hasDecided ? null : 0;
    }
    this.#due ??= performance.now() + this.#interval;
    return Math.max(0, this.#due - performance.now());
  }

  #play() {
    const engine = this.#engine, { film } = this.page, { queued, seat, now: { is_alive: wasAlive } } = this;
    const { launches, gifts } = this.#step(queued ? [{ seat, target: queued.target, fraction: FRACTIONS[queued.share] }] : []);
    Object.assign(this, { queued: null, hasDecided: false, now: situationOf(engine, seat) });
    film.append(frameOf(engine, launches, gifts));
    film.isComplete = this.now.is_over;
    this.page.grown();
    this.#tell();
    if (wasAlive && !(this.now.is_alive && !this.now.is_over)) this.judged = this.#judge();
  }

  /** Finds out in the background which launch cost the person most places, as long as this game is played, and tells it. */
  async #judge() {
    const { header, seat } = this, { judging, bots } = this.about, launches = this.#launches, { film } = this.page;
    const since = Math.max(0, ...(header.changes ?? []).filter(([, one]) => one === seat).map(([tick]) => tick));
    const own = launches.filter((launch) => launch.seat === seat && launch.tick >= since);
    const largest = own.toSorted((one, other) => other.fraction - one.fraction).slice(0, judging.launches);
    const goesOn = (name) => judging.driven.includes(name) || ownOf(bots, name) !== undefined;
    const isKnown = ({ tick }) => playersAt(header, tick).every((name, n) => goesOn(name) || film.diedAt[n + 1] <= tick);
    if (!largest.every(isKnown)) return;
    const judge = new Judge(await Engine.open(this.about), new Recording(this.#origin.memory, launches, this.#changes), header, seat);
    const costliest = await this.#work(judge.costliest(largest), { isWanted: () => this.header === header && this.game.isLive });
    if (!costliest) return;
    Object.assign(this, { costliest });
    this.#tell();
  }

  /** Plays a decision; returns what was launched and given. */
  #step(given) {
    const engine = this.#engine, { tick } = engine, before = { troops: engine.field("troops").slice(), team: engine.field("team") };
    engine.step(given);
    return { launches: engine.launched(tick), gifts: giftsAmong(engine.launched(tick, true), before, engine) };
  }

  #tell() {
    const { now, queued, seat, page: { film } } = this, wait = this.#wait();
    this.arrived({
      ...now, seat, number: ++this.#told, title: film.header.title, card: this.#card, costliest: this.costliest, queued, pages: 1,
      wait_ms: wait && Math.round(wait), is_paused: this.isPaused, has_decided: this.hasDecided,
      has_resigned: this.hasResigned, pace: this.pace, replay: this.fileName, panels: this.#panels(),
    });
  }

  /** What is offered for the next game, if there is any; null as long as the person plays this one. */
  get #card() { return this.card && !(this.#decides && this.now.tick) ? this.card : null; }

  /** Returns what the open panels show, and what the launch that was aimed last would come to. */
  #panels() {
    const { now, aim, seat } = this, panels = {};
    if (this.open.has("advice")) panels.advice = this.#decides ? this.#advice() : null;
    if (this.open.has("agent_view")) panels.agent_view = this.#decides ? agentViewOf(this.#engine, seat, now, this.about.shown) : null;
    if (aim) panels.forecast = this.#decides && !whyNot(now, seat, aim.target) ? this.#foresee(aim.target, aim.share) : null;
    return panels;
  }

  /** Returns what the champion would do on the seat. */
  #advice() {
    const engine = this.#engine, { champion, champion_name: name } = engine.codes;
    const launch = engine.aside(() => {
      engine.seat([[this.seat, champion]]);
      engine.step([]);
      return engine.launched(0, true).find(({ seat }) => seat === this.seat);
    });
    return { name, options: [{ owner: launch?.target ?? -1, part: 1, fraction: launch?.fraction ?? 0 }] };
  }

  /** Plays a launch while all others hold, as territorial/engine/forecast.py does. */
  #foresee(owner, share) {
    const engine = this.#engine, { seat } = this, owners = engine.config.num_players + 1;
    const pool = () => engine.field("pools")[seat * owners + owner], taken = () => Number(engine.field("taken")[seat * owners + owner]);
    const begun = engine.tick, before = taken();
    return engine.aside(() => {
      engine.seat(Array.from({ length: owners - 1 }, (_, n) => [n + 1, "page"]));
      for (let n = 0; n < MOST_DECISIONS && (n === 0 || (!engine.isOver && pool())); n++) {
        engine.step(n ? [] : [{ seat, target: owner, fraction: FRACTIONS[share] }]);
      }
      return {
        owner, share, ticks: engine.tick - begun, cells: taken() - before, troops: Number(engine.field("troops")[seat]), ends: engine.isOver,
        goes_on: !engine.isOver && pool() !== 0n, is_alive: engine.isAlive(seat), falls: owner !== NEUTRAL && !engine.isAlive(owner),
      };
    });
  }

  get fileName() { return `territorial-${this.header.seed}-${this.tick}.replay`; }

  /** Returns the bytes of the replay of the game as far as it has been played. */
  async replay() {
    const engine = this.#engine, { tick } = engine, launches = this.#launches;
    launches.sort((one, other) => one.tick - other.tick || one.seat - other.seat);
    return replayBytes({
      header: branchHeader(this.header, { tick, players: [], ticks: tick, isOver: engine.isOver }),
      land: this.#origin.land,
      launches,
      checkpoints: [{ tick, digest: digestOf(this.header.seed, engine.position()) }],
    });
  }
}

/** Returns what an object has under a name from elsewhere, which may be "constructor". */
const ownOf = (values, name) => (Object.hasOwn(values, name) ? values[name] : undefined);

/** A game as it was played: its memory at tick 0, its launches, and who took over seats. Engines play it again. */
class Recording {
  #launches; // by tick

  constructor(start, launches, changes) {
    Object.assign(this, { start, changes });
    this.#launches = Map.groupBy(launches, ({ tick }) => tick);
  }

  /** Returns the launches of a tick. */
  at(tick) { return this.#launches.get(tick) ?? []; }

  /** Lets those sit down who took over a seat since the last decision, one after the other: a seat may have changed twice. */
  seat(engine) {
    const { tick, config } = engine, now = this.changes.filter((change) => change.tick <= tick && change.tick > tick - config.decision_every);
    for (const { seat, code } of now) engine.seat([[seat, code]]);
  }

  /** Lets them sit down, and returns the launches of this tick that the page has to make: of players that it does not have. */
  decided(engine) {
    this.seat(engine);
    return this.at(engine.tick).filter(({ seat }) => engine.isDriven(seat));
  }

  /** Plays from tick 0 to `tick`, in steps, up to the change of players then. */
  *playTo(engine, tick) {
    engine.restore(this.start);
    while (engine.tick < tick) {
      engine.step(this.decided(engine));
      yield;
    }
  }
}

/** Returns the first living seat that has launched otherwise than was recorded, or 0. */
function firstOther(recorded, launches, lives) {
  const texts = (list) => new Map(list.map(({ seat, target, fraction }) => [seat, `${target}/${fraction}`]));
  const then = texts(recorded), now = texts(launches);
  return [...lives.keys()].find((seat) => seat && lives[seat] && then.get(seat) !== now.get(seat)) ?? 0;
}

/** Returns why a person cannot be called so, or ""; `person_name` of browser/commands.py. */
function nameFault(name, reserved) {
  if (!isName(name)) return `Name is ${JSON.stringify(name)}; it must have 1 to 64 printable characters.`;
  return reserved.includes(name.toLowerCase()) ? `Name is ${JSON.stringify(name)}, which is the name of a bot; choose another name.` : "";
}

/** Returns the game as it stands, as `Film.append` takes it. */
function frameOf(engine, launches = [], gifts = []) {
  const numbers = (name) => Array.from(engine.field(name), Number);
  return { tick: engine.tick, owner: engine.position().cells, troops: numbers("troops"), alive: numbers("alive"), diedAt: numbers("death_tick"), pools: numbers("pools"), launches, gifts };
}

const local = new LocalGame(page);

/** Plays a seat from a moment of the film on; returns why not, or "". */
const playOnHere = (tick, seat) => local.takeOver(tick, seat);

/** In a page of new games the first one begins with the page. */
async function beginHere() {
  const { person: seat, card } = local.about;
  if (!seat) return;
  element("start").querySelector("form").elements.players.closest("label").hidden = true; // the page has as many seats
  while (!page.film.isComplete || !page.painter) {
    if (page.error) return;
    await new Promise((done) => setTimeout(done, 20));
  }
  const refused = await local.begin(card);
  if (refused) page.say(refused, Infinity);
}

beginHere();
