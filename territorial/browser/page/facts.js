// What there is to say about a player, beside the pointer: land, troops, front, attacks.

const FRACTIONS = [16, 32, 64, 96, 128, 192, 256, 384, 512, 1024]; // of 1024, by number
const MOST_NAMED = 3; // owners in a line; the rest is a number

/** Returns how many cells of each owner touch those of `seat`, by owner code: its fronts. */
function frontsOf(board, width, seat) {
  const fronts = new Int32Array(256), last = width - 1;
  for (let cell = 0, column = 0; cell < board.length; cell++, column = column === last ? 0 : column + 1) {
    const owner = board[cell];
    if (owner === seat || owner === BLOCKED) continue;
    const touches = board[cell - width] === seat || board[cell + width] === seat ||
      (column > 0 && board[cell - 1] === seat) || (column < last && board[cell + 1] === seat);
    if (touches) fronts[owner]++;
  }
  return fronts;
}

/** Returns lines about `seat` at `frame`, whose board is `board`. */
function factsOf(film, board, frame, seat) {
  const attacks = film.attacks[frame], land = film.land[frame][seat];
  const own = attacks.filter((attack) => attack.seat === seat), on = attacks.filter((attack) => attack.target === seat);
  const away = own.reduce((sum, attack) => sum + attack.troops, 0);
  const gifts = film.recentGifts(frame, GIFT_TICKS);
  const fronts = frontsOf(board, film.header.width, seat);
  const beside = Array.from(fronts.keys()).filter((owner) => fronts[owner]).sort((a, b) => fronts[b] - fronts[a]);
  return [
    film.teamOf(seat) ? `${film.sideName(seat)}: ${percent(film.sideLand(seat, frame), film.numLand)}` : "",
    `land: ${percent(land, film.numLand)}, ${count(land)} cells`,
    `troops: ${film.density(seat, frame)?.text ?? 0} per cell, ${short(film.troops[frame][seat])} at home, ${short(away)} in the field`,
    named("front", beside.map((owner) => `${ownerName(film, owner)} ${count(fronts[owner])}`)),
    named("attacks", own.map((attack) => `${ownerName(film, attack.target)} ${strength(attack)}`)),
    named("attacked by", on.map((attack) => `${ownerName(film, attack.seat)} ${strength(attack)}`)),
    named("gives", gifts.filter((gift) => gift.seat === seat).map((gift) => `${film.name(gift.target)} ${short(gift.troops)}`)),
    named("is given by", gifts.filter((gift) => gift.target === seat).map((gift) => `${film.name(gift.seat)} ${short(gift.troops)}`)),
  ].filter((line) => line);
}

const OWNERLESS = { [NEUTRAL]: "free land", [BLOCKED]: "water or mountains" };

const ownerName = (film, owner) => OWNERLESS[owner] ?? film.name(owner);

/** An attack in words: its troops in the field, or the cells that it took last. */
const strength = ({ troops, cells }) => (troops ? `with ${short(troops)}` : `took ${count(cells)} cells`);

function named(what, list) {
  const more = list.length - MOST_NAMED;
  return list.length ? `${what}: ${list.slice(0, MOST_NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}` : "";
}

/** What an attack comes to if nobody else does anything, in words. */
function comesTo({ cells, ticks, falls, ends, goes_on: goesOn }) {
  const end = falls ? " and ends that player" : ends ? " and ends the game" : goesOn ? " and goes on" : "";
  return `takes ${cells ? count(cells) : "no"} cells in ${ticks} ticks${end}`;
}

/** A part of the balance, given in 1024ths. */
const shareOf = (fraction) => `${(fraction / 10.24).toFixed(fraction < 256 ? 1 : 0)} %`;
