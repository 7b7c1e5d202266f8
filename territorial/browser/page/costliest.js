// The launch that cost a seat most places, in a game that the page plays itself: `costliest_launch` of evaluation/what_if.py.

const STREAM_FUTURE = 12n; // of what is drawn from a moment on, as in territorial/constants.py
const FINAL_MS = 15_000; // after so much time no further launch is judged by many games
const LATIN = new TextDecoder("latin1"); // a character for each byte

/** Games that are played on from the launches of a seat, in an engine of their own, see `playable` for its `judging`. */
class Judge {
  constructor(engine, recording, { seed }, seat) {
    Object.assign(this, { engine, recording, seed: BigInt(seed), seat });
  }

  /** Returns the costliest of some launches, {tick, target, fraction}, in steps; null if there is none beyond doubt. */
  *costliest(launches) {
    const { few, finalists, many, students_t: t, seconds } = this.engine.judging, until = performance.now() + 1000 * seconds;
    const judged = [], found = [];
    for (const launch of launches) {
      judged.push(yield* this.#judge(launch, few));
      if (performance.now() > until) break;
    }
    for (const { launch } of costliestFirst(judged).slice(0, finalists)) {
      found.push(yield* this.#judge(launch, many));
      if (performance.now() > until + FINAL_MS) break; // on a phone, or a large board
    }
    const [first] = costliestFirst(found.filter(({ cost }) => cost.mean - t * cost.error > 0));
    return first ? first.launch : null;
  }

  /** Compares a launch with holding, by pairs of games; returns it with what came of both, and what it cost. */
  *#judge({ tick, target, fraction }, games) {
    const held = yield* this.#endings(tick, games, true), launched = yield* this.#endings(tick, games, false);
    const means = { held: meanOf(held.places).mean, launched: meanOf(launched.places).mean };
    return {
      launch: { tick, target, fraction, ...means, games, endings: Math.min(held.different, launched.different) },
      cost: meanOf(launched.places.map((place, n) => place - held.places[n])),
    };
  }

  /** Plays games on from a tick, each with the luck of its number: returns the places of the seat, and how many ended differently. */
  *#endings(tick, games, isHeld) {
    const { engine, recording, seat, seed } = this, places = [], different = new Set();
    yield* recording.playTo(engine, tick);
    const given = recording.decided(engine), driven = engine.driven();
    engine.step(given.filter((launch) => !isHeld || launch.seat !== seat));
    engine.seat(driven.map((one) => [one, engine.codes.champion]));
    const position = engine.save(), now = BigInt(engine.tick);
    for (let number = 0; number < games; number++) {
      engine.restore(position);
      engine.field("future")[0] = drawn(seed, STREAM_FUTURE, now, BigInt(number));
      for (; !engine.isOver; engine.step([])) yield;
      const { cells, numbers } = engine.position();
      places.push(Number(engine.field("doubled_place")[seat]) / 2);
      different.add(LATIN.decode(cells) + LATIN.decode(numbers));
    }
    return { places, different: different.size };
  }
}

const costliestFirst = (judged) => judged.sort((one, other) => other.cost.mean - one.cost.mean || other.launch.tick - one.launch.tick);

/** Returns the mean of numbers, and its standard error; `mean_of` of evaluation/intervals.py. */
function meanOf(numbers) {
  const games = numbers.length, sum = (list) => list.reduce((total, one) => total + one, 0), mean = sum(numbers) / games;
  const scatter = (sum(numbers.map((one) => (one - mean) ** 2)) * games) / (games - 1);
  return { mean, error: Math.sqrt(scatter) / games };
}

/** Returns H(seed, stream, tick, index), all BigInts; `draw` of game/formulas.py. */
const drawn = (...words) => words.reduce((word, next) => mixed(word ^ next), 0n);

/** Returns the SplitMix64 finaliser of a BigInt; `mix` of config/draws.py. */
function mixed(word) {
  let z = BigInt.asUintN(64, word + 0x9e3779b97f4a7c15n);
  z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}
