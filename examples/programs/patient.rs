// Patient of docs/custom_bots.md as a program in Rust, with the standard library alone.
//
//     rustc -O -o patient patient.rs

use std::io::{self, BufRead, Write};

/// The text after the name of a field.
fn after<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let key = format!("\"{name}\": ");
    line.find(&key).map(|at| &line[at + key.len()..])
}

fn number(line: &str, name: &str) -> Option<usize> {
    let text = after(line, name)?;
    text[..text.find([',', '}'])?].parse().ok()
}

fn numbers(line: &str, name: &str) -> Option<Vec<i64>> {
    let text = after(line, name)?.strip_prefix('[')?;
    let list = &text[..text.find(']')?];
    list.split(", ").filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect()
}

/// The 1024ths of the balance that are at least this amount.
fn share_for(amount: i64, balance: i64) -> i64 {
    ((1024 * amount + balance - 1) / balance.max(1)).clamp(1, 1024)
}

fn decide(line: &str) -> Option<String> {
    let seat = number(line, "seat")?;
    let (legal, troops, land) = (numbers(line, "legal")?, numbers(line, "troops")?, numbers(line, "land")?);
    let balance = troops[seat];
    if legal.first() == Some(&0) {
        return Some(format!(r#"{{"target": 0, "share": {}}}"#, share_for(balance / 10, balance)));
    }
    if legal.is_empty() || balance < 110 * land[seat] {
        return Some("{}".to_string());
    }
    let mut thinnest = legal[0] as usize;
    for owner in legal.iter().map(|&owner| owner as usize) {
        if troops[owner] * land[thinnest] < troops[thinnest] * land[owner] {
            thinnest = owner;
        }
    }
    Some(format!(r#"{{"target": {thinnest}, "share": {}}}"#, share_for(balance / 4, balance)))
}

fn main() -> io::Result<()> {
    let mut out = io::stdout();
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.starts_with("{\"hello\"") {
            writeln!(out, r#"{{"name": "patient-in-rust", "interval": 100}}"#)?;
        } else if line.starts_with("{\"decide\"") {
            writeln!(out, "{}", decide(&line).expect("a line of version 1"))?;
        }
        out.flush()?;
    }
    Ok(())
}
