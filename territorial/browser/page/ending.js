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
    const { film: { land }, seat } = this, most = Math.max(1, ...land.map((all) => all[seat]));
    this.fillBelow(this.samples.map(({ frame }) => (0.96 * land[frame][seat]) / most), this.palette.texts[seat]);
  }
}

/** Returns the level for the next game: one up after a win, one down after a place below the first quarter. */
function levelAfter({ now: { card, place }, page: { film } }) {
  const { level, levels } = card, sides = film.teams.length || film.header.num_players;
  if (!level) return level;
  const by = place === 1 ? 1 : place > Math.max(1, sides / 4) ? -1 : 0;
  return levels[levels.indexOf(level) + by] ?? level;
}

/** Returns the level that the end card offers beside the same one: that of the result, or the next; undefined for none. */
function otherLevel(game) {
  const { level, levels } = game.now.card ?? {}, after = level && levelAfter(game);
  if (!level) return undefined;
  return after === level ? levels[levels.indexOf(level) + 1] : after;
}

/** Has the browser keep a result, once for each game, and the level that it leads to; returns the best result before. */
function bestBefore(game) {
  const { place, tick, title, card } = game.now, id = location.pathname + title, { results = {} } = remembered();
  const kind = `${card?.level ?? OWN}, ${element("about").textContent}`;
  let { best, before, last } = results[kind] ?? {};
  if (last !== id) {
    before = best;
    if (!best || place < best.place || (place === best.place && tick < best.tick)) best = { place, tick };
    remember({ results: { ...results, [kind]: { best, before, last: id } }, ...(card?.level ? { level: levelAfter(game) } : {}) });
  }
  return before;
}

/** Shows the end card of a player who is out, or whose game is over. */
function showEnding(game) {
  const { now, page } = game, { film } = page, dialog = element("ending"), { seat, card } = now, has = Boolean(seat), isWon = now.place === 1;
  const sides = film.teams.length ? `${film.teams.length} teams` : film.header.num_players;
  const place = now.place === null ? "your team plays on" : `place ${now.place} of ${sides}`;
  const outcome = isWon ? (film.teams.length ? "Your team wins" : "You win") : now.is_over ? `The end: ${place}` : `You are out: ${place}`;
  put(dialog.querySelector("h2"), has ? outcome : "The game is over");
  put(dialog.querySelector(".text"), now.is_over ? winnerText(film, seat) : "The bots play on, and you can watch them.");
  const before = has && now.place !== null ? bestBefore(game) : undefined, other = otherLevel(game);
  const best = !before ? "none" : before.place === 1 ? `a win after ${count(before.tick)} ticks` : `place ${before.place}`;
  put(dialog.querySelector(".before"), has && now.place !== null ? `Your best before, in such games: ${best}.` : "");
  dialog.classList.toggle("is-won", isWon);
  put(dialog.querySelector("code"), now.replay ?? "no file: it could not be written");
  const save = dialog.querySelector("a");
  save.hidden = !now.replay;
  save.download = (now.replay ?? "game.replay").split(/[\\/]/).at(-1);
  for (const part of dialog.querySelectorAll(".fate")) part.hidden = !has;
  dialog.querySelector("[value='same']").hidden = !card;
  dialog.querySelector("[value='next']").hidden = !other;
  put(dialog.querySelector("[value='next']"), `${card?.levels.indexOf(other) < card?.levels.indexOf(card.level) ? "easier" : "next"} level: ${other}`);
  showCostliest(game);
  if (!dialog.open) dialog.showModal();
  if (has) showFate(dialog, page, seat);
}

/** Names the launch that cost the player most places, once the session has found it out, and offers to go back there. */
function showCostliest({ now: { costliest }, name }) {
  const dialog = element("ending"), retry = dialog.querySelector("[value='retry']");
  retry.hidden = !costliest;
  put(retry, costliest ? `try again from tick ${count(costliest.tick)}` : "");
  put(dialog.querySelector(".costliest"), costliest ? costliestText(costliest, name) : "");
}

function costliestText({ tick, target, fraction, held, launched, games, endings }, name) {
  const what = `tick ${count(tick)}, ${shareOf(fraction)} at ${name(target)}: from place ${held.toFixed(1)} to ${launched.toFixed(1)}`;
  return `Your costliest decision: ${what} (means of ${games} games, ${endings} of them different, in which the champion plays on for you).`;
}

function winnerText(film, seat) {
  const last = film.length - 1, [first] = film.standings(last), land = percent(film.sideLand(first, last), film.numLand);
  if (first !== seat && !film.areAllies(first, seat)) return `${film.sideName(first)} has won, with ${land} of the land.`;
  return `After ${count(film.lastTick)} ticks, ${film.teams.length ? "your team holds" : "you hold"} ${land} of the land.`;
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
