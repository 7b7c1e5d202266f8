// What happened when: deaths, changes of leader, the largest swing, the closest fight, the largest gift.

const LEAD_TICKS = 100;  // who leads for so long counts as leader
const SWING_TICKS = 100; // in which a swing is measured
const FIGHT_TICKS = 200; // in which a fight is measured

/** Reads a film frame by frame as it arrives; what it knows at a frame follows from the frames up to it. */
class GameEvents {
  leads = [];   // {tick, seat, until}: who has led from then on, which was known from `until` on; a seat of the team
  swings = [];  // {tick, seat, cells}: each larger than all before it
  fights = [];  // {tick, seats, cells}: each closer than all before it
  gifts = [];   // {tick, seat, target, troops}: each larger than all before it
  #next = 0;
  #first = { seat: 0, tick: 0 };
  #taken = new Map(); // by attack: cells that it took in the last FIGHT_TICKS
  #oldest = 0;        // frame of these
  #behind = 0;        // frame SWING_TICKS before

  constructor(film) { this.film = film; }

  /** Takes in the frames that have come. */
  update() {
    for (; this.#next < this.film.length; this.#next++) {
      this.#lead(this.#next);
      this.#swing(this.#next);
      this.#fight(this.#next);
      this.#gift(this.#next);
    }
  }

  #gift(frame) {
    const tick = this.film.ticks[frame];
    for (const gift of this.film.gifts[frame]) {
      if (gift.troops > (this.gifts.at(-1)?.troops ?? 0)) this.gifts.push({ ...gift, tick, until: tick });
    }
  }

  /** Returns deaths as {tick, seat}, in the order of time. */
  get deaths() {
    const all = this.film.diedAt.map((tick, seat) => ({ tick, seat })).filter(({ tick }) => tick !== undefined);
    return all.sort((a, b) => a.tick - b.tick);
  }

  /** Returns the teams that are out, as {tick, name}. */
  get teamsOut() {
    const { film } = this, isOut = ({ seats }) => seats.every((seat) => film.diedAt[seat] !== undefined);
    return film.teams.filter(isOut).map(({ team, name }) => ({ tick: film.outAt(team), name }));
  }

  #lead(frame) {
    const { film } = this, tick = film.ticks[frame];
    const sides = film.teams.length ? film.teams.map(({ seats }) => seats[0]) : film.header.names.map((_, n) => n + 1);
    let first = this.#first.seat || 1;
    for (const seat of sides) if (film.sideLand(seat, frame) > film.sideLand(first, frame)) first = seat;
    if (first !== this.#first.seat) this.#first = { seat: first, tick };
    const isNew = this.leads.at(-1)?.seat !== first;
    if (isNew && tick - this.#first.tick >= LEAD_TICKS) this.leads.push({ ...this.#first, until: tick });
  }

  #swing(frame) {
    const { ticks, land, header } = this.film;
    while (ticks[frame] - ticks[this.#behind] > SWING_TICKS) this.#behind++;
    const now = land[frame], before = land[this.#behind];
    for (let seat = 1; seat <= header.num_players; seat++) {
      const cells = now[seat] - before[seat];
      if (cells > (this.swings.at(-1)?.cells ?? 0)) this.swings.push({ tick: ticks[this.#behind], until: ticks[frame], seat, cells });
    }
  }

  #fight(frame) {
    const { ticks, attacks } = this.film;
    for (const attack of attacks[frame]) this.#count(attack, 1);
    for (; ticks[frame] - ticks[this.#oldest] > FIGHT_TICKS; this.#oldest++) {
      for (const attack of attacks[this.#oldest]) this.#count(attack, -1);
    }
    const taken = (seat, target) => this.#taken.get(codeOf({ seat, target })) ?? 0;
    for (const { seat, target } of attacks[frame]) {
      const cells = Math.min(taken(seat, target), taken(target, seat));
      if (cells <= (this.fights.at(-1)?.cells ?? 0)) continue;
      const seats = [Math.min(seat, target), Math.max(seat, target)];
      this.fights.push({ tick: ticks[this.#oldest], until: ticks[frame], seats, cells });
    }
  }

  #count(attack, sign) {
    const code = codeOf(attack);
    this.#taken.set(code, (this.#taken.get(code) ?? 0) + sign * attack.cells);
  }

  /** Returns the moments worth a visit up to `tick`, in the order of time: {tick, text}. */
  highlights(tick) {
    const { film } = this, name = (seat) => film.name(seat), say = (one, text) => ({ tick: one.tick, text });
    const known = (list) => list.filter((one) => (one.until ?? one.tick) <= tick);
    const last = (list) => known(list).slice(-1), gainOf = ({ cells }) => percent(cells, film.numLand);
    const gift = ({ seat, target, troops }) => `${name(seat)} gives ${name(target)} ${short(troops)}`;
    const found = [
      ...known(this.deaths).slice(0, 1).map((one) => say(one, `first out: ${name(one.seat)}`)),
      ...last(this.swings).map((one) => say(one, `largest swing: ${name(one.seat)} gains ${gainOf(one)}`)),
      ...last(this.fights).map((one) => say(one, `closest fight: ${one.seats.map(name).join(" and ")}`)),
      ...last(this.gifts).map((one) => say(one, `largest gift: ${gift(one)}`)),
      ...known(this.teamsOut).map((one) => say(one, `${one.name} is out`)),
      ...known(this.leads).map((one) => say(one, `${film.sideName(one.seat)} takes the lead`)),
    ].sort((a, b) => a.tick - b.tick);
    if (film.isComplete && tick >= film.lastTick) found.push({ tick: film.lastTick, text: "the end" });
    return found;
  }
}
