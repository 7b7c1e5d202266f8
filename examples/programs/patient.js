#!/usr/bin/env node
// Patient of docs/custom_bots.md as a program in JavaScript, without packages.

function decide({ troops, land, seat, legal }) {
  if (legal.includes(0)) return { target: 0, share: shareFor(Math.floor(troops[seat] / 10), troops[seat]) };
  if (legal.length === 0 || troops[seat] < 110 * land[seat]) return {};
  let thinnest = legal[0];
  for (const owner of legal) if (troops[owner] * land[thinnest] < troops[thinnest] * land[owner]) thinnest = owner;
  return { target: thinnest, share: shareFor(Math.floor(troops[seat] / 4), troops[seat]) };
}

/** The 1024ths of the balance that are at least this amount. */
function shareFor(amount, balance) {
  return Math.min(1024, Math.max(1, Math.ceil((1024 * amount) / Math.max(1, balance))));
}

const lines = require("readline").createInterface({ input: process.stdin });
lines.on("line", (text) => {
  const line = JSON.parse(text);
  if ("hello" in line) console.log(JSON.stringify({ name: "patient-in-javascript", interval: 100 }));
  if ("decide" in line) console.log(JSON.stringify(decide(line)));
});
