// The options of a player and the attacks on it, in a game that the page plays itself: browser/situation.py.
//
// Each formula repeats the Python function that it names, beginning with the package of that. They compute with
// BigInts, as products exceed 2 ** 53. No dividend is negative, so that `/` rounds as `//` does in Python.
//
// A `game` has:
//   config       what `rules_of` (browser/playable.py) calls "config";
//   derived      what it calls "derived": `interest_rates`, basis points by level of land;
//   field(name)  a field of game/state.py of one game, row by row; those of FIELDS_READ, all BigInt64Array.

const FIELDS_READ = ["alive", "doubled_place", "fronts", "land", "num_land", "over", "pools", "team", "tick", "troops"];
const BASIS_POINTS = 10_000n;
const FRACTION_UNIT = 1024n;

/** Returns the situation of `seat`, 1..P, as sessions write it; seat 0 is a spectator's (`situation_of`). */
function situationOf(game, seat) {
  const state = Object.fromEntries(FIELDS_READ.map((name) => [name, game.field(name)])), rules = bigRules(game);
  const tick = Number(state.tick[0]), isOver = state.over[0] !== 0n;
  const nothing = { amounts: [], openings: [], attacks: [], attackers: [], allies: [], earnings: {} };
  if (!seat) return { tick, is_alive: false, is_over: isOver, place: null, land: 0, troops: 0, ...nothing };
  const troops = state.troops[seat];
  const owners = Array.from(state.troops.keys());
  return {
    tick,
    is_alive: state.alive[seat] !== 0n,
    is_over: isOver,
    place: Number(state.doubled_place[seat]) / 2 || null,
    land: Number(state.land[seat]),
    troops: Number(troops),
    amounts: FRACTIONS.map((one) => Number(amountSent(wantedOf(troops, BigInt(one)), 0n, troops, rules))),
    openings: openingsOf(state, rules, seat),
    attacks: largestFirst(owners.map((target) => poolOf(state, seat, target))),
    attackers: largestFirst(owners.map((owner) => poolOf(state, owner, seat))),
    allies: alliesOf(state, rules, seat),
    earnings: earningsOf(state, rules, game.derived.interest_rates, seat),
  };
}

/** Returns the rules that are whole numbers. */
function bigRules({ config }) {
  const whole = Object.entries(config).filter(([, value]) => Number.isInteger(value));
  return Object.fromEntries(whole.map(([name, value]) => [name, BigInt(value)]));
}

/** Returns the donations among legal `launches`, {seat, target, troops}; `state` has troops and teams as before them. */
function giftsAmong(launches, state, game) {
  const rules = bigRules(game), given = launches.filter(({ seat, target }) => areAllied(state, seat, target));
  return given.map(({ seat, target, fraction }) => {
    const troops = state.troops[seat];
    return { seat, target, troops: Number(amountSent(wantedOf(troops, BigInt(fraction)), 1n, troops, rules)) };
  });
}

/** Returns what a seat would be paid now for its troops and land (`earnings_of`). */
function earningsOf(state, rules, rates, seat) {
  const land = state.land[seat], troops = state.troops[seat];
  const best = rules.soft_cap * land, room = larger(0n, rules.hard_cap * land - troops);
  const most = larger(rateForLand(land, state.num_land[0], rules, rates), openingRate(state.tick[0], rules));
  const rate = land ? rateOverCap(most, troops, best, rules.over_cap_slope) : 0n;
  return {
    interest: Number(smaller(larger(1n, (rate * troops) / BASIS_POINTS), room)),
    interest_every: Number(rules.interest_every),
    income: Number(smaller(rules.income_per_cell * land, room)),
    income_every: Number(rules.income_every),
    best: Number(best),
    most: Number(rules.hard_cap * land),
  };
}

/** Returns the owners beside a seat: those that it can attack first, then by size of the front (`_openings`). */
function openingsOf(state, rules, seat) {
  const troops = state.troops[seat], most = largestNeed(troops, rules), found = [];
  for (const owner of state.troops.keys()) {
    const { cells, need } = frontOf(state, rules, seat, owner);
    if (!cells || areAllied(state, seat, owner)) continue;
    const reason = canAttack(need, most) ? "" : `needs ${count(need)} troops; you can commit at most ${count(most)}`;
    found.push({ owner, cells: Number(cells), least: Number(amountSent(0n, need, troops, rules)), reason });
  }
  return found.sort((a, b) => (a.reason !== "") - (b.reason !== "") || b.cells - a.cells || a.owner - b.owner);
}

/** Returns the living allies of a seat, the most attacked first (`_allies`). */
function alliesOf(state, rules, seat) {
  const troops = state.troops[seat], owners = Array.from(state.troops.keys());
  const refused = troops ? "has all the troops that its land can hold" : "you have no troops at home";
  const allies = owners.filter((owner) => areAllied(state, seat, owner) && state.alive[owner]);
  const found = allies.map((owner) => ({
    owner,
    attackers: Number(owners.reduce((total, attacker) => total + poolOf(state, attacker, owner), 0n)),
    reason: mayDonate(troops, state.troops[owner], state.land[owner], rules) ? "" : refused,
  }));
  return found.sort((a, b) => b.attackers - a.attackers || a.owner - b.owner);
}

/** Returns the owner codes of the troops that are not 0, with these (`_largest_first`). */
function largestFirst(pools) {
  const found = pools.map((troops, owner) => [owner, Number(troops)]).filter(([, troops]) => troops);
  return found.sort((a, b) => b[1] - a[1]);
}

/** Returns why `seat` cannot launch against `target`, or give to it, null: decide at all; "" if it can (`why_not`). */
function whyNot(situation, seat, target) {
  if (situation.is_over) return "the game is over";
  if (!seat) return "you are a spectator";
  if (!situation.is_alive) return "you are out of the game";
  if (target === null) return "";
  if (target === seat) return "this is your own land";
  const known = [...situation.openings, ...situation.allies].find(({ owner }) => owner === target);
  const what = target === NEUTRAL ? "free land" : `P${target}`;
  return known ? known.reason : `${what} is too far: your land does not touch it`;
}

// ---- one pair of players: engine/saved_game.py and game/formulas.py ------------------------------------

const poolOf = (state, seat, target) => state.pools[seat * state.troops.length + target];

/** Returns the cells of the front of `seat` with `owner`, and what a launch needs there (`fronts_of`, `need_for`). */
function frontOf(state, rules, seat, owner) {
  const cells = state.fronts[seat * state.troops.length + owner];
  const layers = rules.layer_cost * cells + cells / rules.layer_growth_divisor; // `need_at_front`
  return { cells, need: cells ? larger(1n, layers - poolOf(state, seat, owner)) : 0n };
}

/** `are_allies`. */
const areAllied = (state, seat, owner) => seat !== owner && state.team[seat] === state.team[owner];

/** `largest_need`. */
const largestNeed = (troops, rules) => troops / rules.need_divisor;

/** `is_legal`. */
const canAttack = (need, most) => need > 0n && need <= most;

/** `may_donate`. */
const mayDonate = (troops, allyTroops, allyLand, rules) => troops >= 1n && allyTroops < rules.hard_cap * allyLand;

/** `wanted_of`. */
const wantedOf = (troops, fraction) => (fraction * troops) / FRACTION_UNIT;

/** `amount_sent` and `tax_on`. */
function amountSent(wanted, least, troops, rules) {
  const tax = (rules.launch_tax * troops) / FRACTION_UNIT;
  return smaller(troops - tax, larger(wanted, least));
}

// ---- rates in basis points: game/rules.py ----------------------------------------------------------------

/** `opening_rate`. */
function openingRate(now, { early_interest_ticks: length, early_interest_multiple: multiple, interest_base: base }) {
  return now >= length ? 0n : (base * (multiple * length - (multiple - 1n) * now)) / length;
}

/** `rate_for_land`. */
function rateForLand(land, numLand, { interest_levels: levels }, rates) {
  return BigInt(rates[smaller((levels * land) / numLand, levels)]);
}

/** `rate_over_cap`. */
function rateOverCap(rate, troops, cap, slope) {
  return troops <= cap ? rate : larger(0n, rate - (slope * rate * (troops - cap)) / cap);
}

const larger = (a, b) => (a > b ? a : b);
const smaller = (a, b) => (a < b ? a : b);
