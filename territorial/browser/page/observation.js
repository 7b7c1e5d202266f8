// What an agent on a seat is shown, in a game that the page plays itself: `agent_view` of browser/panels.py.

const SQUARE = 8; // cells a side, of which the pooled planes have means
const FULL = 255;
const [OWN_CELLS, FREE_CELLS, OTHERS_CELLS, BLOCKED_CELLS, ALLIED_CELLS] = [0, 1, 2, 3, 4]; // planes of a frame

/** Returns the view of `seat`; `now` is its situation, `shown` what `columns_shown` (browser/panels.py) returns. */
function agentViewOf(engine, seat, now, shown) {
  const state = Object.fromEntries(FIELDS_READ.map((name) => [name, engine.field(name)])), rules = bigRules(engine);
  const { rows, owners, own, pairs } = engine.pairs(seat), width = shown.pairs.length;
  const fronts = owners.map((owner) => frontOf(state, rules, seat, owner));
  const legal = [...now.openings, ...now.allies].filter(({ reason }) => !reason).map(({ owner }) => owner);
  return {
    legal: legal.sort((one, other) => one - other),
    num_legal: 1 + FRACTIONS.length * legal.length,
    num_actions: shown.num_actions,
    owners,
    fronts: fronts.map(({ cells }) => Number(cells)),
    needs: fronts.map(({ need }, n) => (areAllied(state, seat, owners[n]) ? 0 : Number(need))),
    own: shown.own.map((name, column) => [name, own[column] / shown.unit]),
    pairs: shown.pairs.map((name, column) => [name, rows.map((row) => pairs[row * width + column] / shown.unit)]),
    planes: { names: shown.planes, ...planesOf(engine, seat, state, shown.planes) },
  };
}

/** Returns the pooled planes, a byte a square, base64 each: means over squares, as `Decoder.pooled` has them. */
function planesOf(engine, seat, state, names) {
  const { height, width, hard_cap: cap, num_players: players } = engine.config, hasTeams = names.length > ALLIED_CELLS + 2;
  const rows = Math.ceil(height / SQUARE), columns = Math.ceil(width / SQUARE), board = engine.position().cells;
  const kindOf = (owner) => {
    if (owner === seat) return OWN_CELLS;
    if (owner === NEUTRAL) return FREE_CELLS;
    return hasTeams && areAllied(state, seat, owner) ? ALLIED_CELLS : OTHERS_CELLS;
  };
  const owners = Array.from({ length: players + 1 }, (_, owner) => owner), kinds = new Map(owners.map((owner) => [owner, kindOf(owner)]));
  const isPlayer = (owner) => owner !== NEUTRAL && state.land[owner] > 0n;
  const levels = owners.map((owner) => (isPlayer(owner) ? Math.min(FULL, Number((BigInt(FULL) * state.troops[owner]) / (BigInt(cap) * state.land[owner]))) : 0));
  const sums = names.map(() => new Float64Array(rows * columns)), cells = new Float64Array(rows * columns);
  const [dense, attacked] = sums.slice(-2);
  board.forEach((owner, at) => {
    const square = Math.floor(at / width / SQUARE) * columns + Math.floor((at % width) / SQUARE);
    cells[square] += 1;
    sums[kinds.get(owner) ?? BLOCKED_CELLS][square] += FULL;
    dense[square] += levels[owner] ?? 0;
    attacked[square] += owner <= players && poolOf(state, seat, owner) ? FULL : 0;
  });
  const bytes = (sum) => Array.from(sum, (one, square) => String.fromCharCode(Math.round(one / cells[square]))).join("");
  return { height: rows, width: columns, data: sums.map((sum) => btoa(bytes(sum))) };
}
