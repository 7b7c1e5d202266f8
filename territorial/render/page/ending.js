"use strict";
// The end card: how the game ended for its player, by whose attack, and what there was before.

const SAME_ATTACK = 100; // ticks without a loss after which the next one belongs to another attack

/** Returns how a seat fared in a film: {best, most, kills, fall}. */
function fateOf(film, seat) {
  const frames = Array.from(film.ticks.keys()).filter((frame) => film.alive[frame][seat]);
  const placeAt = (frame) => film.header.names.filter((_, n) => film.land[frame][n + 1] >= film.land[frame][seat]).length;
  const peak = frames.reduce((best, frame) => (film.land[frame][seat] > film.land[best][seat] ? frame : best), 0);
  return {
    best: Math.min(...frames.map(placeAt)),
    most: { cells: film.land[peak][seat], tick: film.ticks[peak] },
    kills: killsOf(film, seat),
    fall: fallOf(film, seat, peak),
  };
}

/** Returns the attack that took most cells of a seat after the frame `peak`: {seat, cells, land, from, until}. */
function fallOf(film, seat, peak) {
  const last = new Map(); // by attacker
  let worst = null;
  for (let frame = peak + 1; frame < film.length; frame++) {
    const tick = film.ticks[frame], before = frame - 1;
    for (const attack of film.attacks[frame]) {
      if (attack.target !== seat || !attack.cells) continue;
      let one = last.get(attack.seat);
      if (!one || tick - one.until > SAME_ATTACK) {
        one = { seat: attack.seat, cells: 0, land: film.land[before][seat], from: film.ticks[before] };
        last.set(attack.seat, one);
      }
      one.cells += attack.cells;
      one.until = tick;
      if (one.cells > (worst?.cells ?? 0)) worst = one;
    }
  }
  return worst;
}

/** Returns the seats that are out and lost most of their cells to `seat`, as rewards count kills. */
function killsOf(film, seat) {
  const taken = film.header.names.map(() => new Map());
  for (const attacks of film.attacks) {
    for (const { seat: by, target, cells } of attacks) {
      if (target !== NEUTRAL && cells) taken[target - 1].set(by, (taken[target - 1].get(by) ?? 0) + cells);
    }
  }
  const isOwn = (cells) => cells.has(seat) && cells.get(seat) === Math.max(...cells.values());
  return taken.flatMap((cells, n) => (film.diedAt[n + 1] !== undefined && isOwn(cells) ? [n + 1] : []));
}

/** The land of one seat over the whole game. */
class OwnLandChart extends Chart {
  drawPlot() {
    const { context, film, height, samples, seat } = this;
    const most = Math.max(1, ...film.land.map((land) => land[seat]));
    context.clearRect(0, 0, this.width, height + AXIS);
    context.beginPath();
    context.moveTo(0, height);
    for (const { frame, x } of samples) context.lineTo(x, height * (1 - (0.96 * film.land[frame][seat]) / most));
    context.lineTo(samples.at(-1).x, height);
    context.fillStyle = this.palette.texts[seat];
    context.fill();
  }
}

/** Shows the end card of a player who is out, or whose game is over. */
function showEnding({ now, page }) {
  const { film } = page, dialog = element("ending"), { seat } = now, has = Boolean(seat), card = now.card;
  const sides = film.teams.length ? `${film.teams.length} teams` : film.header.num_players;
  const place = now.place === null ? "your team plays on" : `place ${now.place} of ${sides}`;
  put(dialog.querySelector("h2"), !has ? "The game is over" : now.is_over ? `The end: ${place}` : `You are out: ${place}`);
  put(dialog.querySelector(".text"), now.is_over ? winnerText(film, seat) : `The ${now.people.length > 1 ? "others" : "bots"} play on, and you can watch them.`);
  dialog.querySelector(".replay").hidden = now.person > 0; // it lies on the host's computer
  put(dialog.querySelector("code"), now.replay ?? "no file: it could not be written");
  for (const part of dialog.querySelectorAll(".fate")) part.hidden = !has;
  const next = card?.levels[card.levels.indexOf(card.level) + 1], hasNext = card?.level && next && now.people.length === 1;
  dialog.querySelector("[value='same']").hidden = !card;
  dialog.querySelector("[value='next']").hidden = !hasNext;
  put(dialog.querySelector("[value='next']"), `next level: ${next}`);
  if (!dialog.open) dialog.showModal();
  if (has) showFate(dialog, page, seat);
}

function winnerText(film, seat) {
  const last = film.length - 1, [first] = film.standings(last), land = percent(film.sideLand(first, last), film.numLand);
  if (first !== seat && !film.areAllies(first, seat)) return `${film.sideName(first)} has won, with ${land} of the land.`;
  return `${film.teams.length ? "Your team has" : "You have"} won, with ${land} of the land.`;
}

function showFate(dialog, page, seat) {
  const { film, palette } = page, { best, most, kills, fall } = fateOf(film, seat), many = kills.length > MOST_NAMED;
  const names = kills.slice(0, MOST_NAMED).map((one) => film.name(one)).join(", ");
  put(dialog.querySelector(".fall"), fall
    ? `${film.name(fall.seat)} took ${count(fall.cells)} of your ${count(fall.land)} cells between ticks ${count(fall.from)} and ${count(fall.until)}.`
    : "Nobody has taken land from you since you held the most.");
  put(dialog.querySelector(".kills"), kills.length ? `${kills.length}: ${names}${many ? " ..." : ""}` : "none");
  put(dialog.querySelector(".best"), `${best} of ${film.header.num_players}`);
  put(dialog.querySelector(".most"), `${count(most.cells)} cells, ${percent(most.cells, film.numLand)} of the land, at tick ${count(most.tick)}`);
  new OwnLandChart(dialog.querySelector(".chart"), film, palette).draw(seat, film.length - 1, film.lastTick);
}
