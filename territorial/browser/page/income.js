// What land and troops earn, and how near the troops are to the most that the land holds.

const NEAR = 0.9; // of the troops from which the interest falls

/** Shows the earnings of a situation. */
function showIncome({ earnings, troops, is_alive: isAlive }) {
  const box = element("income");
  box.hidden = !isAlive;
  if (!isAlive) return;
  const { interest, income, best, most } = earnings, meter = box.querySelector("meter");
  const every = (number, ticks) => `+${count(number)} every ${ticks}`;
  Object.assign(meter, { max: most, high: best, low: NEAR * best, optimum: 0, value: troops });
  meter.textContent = `${short(troops)} of ${short(most)}`;
  const [state, sign] = troops >= most ? ["full", "▲ full: nothing more is paid"]
    : troops > best ? ["over", `▲ above ${short(best)} interest falls, to none at ${short(most)}`]
      : troops >= NEAR * best ? ["near", `△ above ${short(best)} interest falls`] : ["", ""];
  box.dataset.state = state;
  put(box.querySelector(".rates"), `${every(interest, earnings.interest_every)}, ${every(income, earnings.income_every)} ticks`);
  put(box.querySelector(".most"), `of ${short(most)}`);
  put(box.querySelector(".sign"), sign);
}
