"""Every rule with what it mends and what it leaves alone, judged by the real rustc."""

# ruff: noqa: E501 - one case of a table is one line
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critic.edits import Edit, EditSet, apply
from critic.progress import Compilation
from critic.repair import RepairLimits, repair
from critic.review import Diagnostic, Span
from critic.rules import RULES, propose, regions
from critic.rules.never import NEVER, guesses_name, leaves_holes, takes_away
from critic.rules.regions import allowed, blank_tests
from critic.rules.source import Source
from critic.rules.suggested import alternatives, suggested
from critic.rules.types import Type, conversions, element_step, expected_found, read
from critic.rustc import stand_alone
from critic.toolchain import find_toolchain

Compile = Callable[[str], tuple[Compilation, Source]]


@pytest.fixture(scope="module")
def compile_text(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    toolchain = find_toolchain(Path.cwd())
    scratch = tmp_path_factory.mktemp("rules")

    def work(text: str) -> tuple[Compilation, Source]:
        source = text.encode()
        compiler = stand_alone(source, toolchain, scratch)
        return compiler(source), Source(source, compiler.file)

    return work


# (rule, a text that doesn't compile, what stands in it after the rule)
MENDED = [
    ("conditional", "pub fn f(a: i32) -> i32 {\n    return 1 if a > 0 else 2;\n}", "return if a > 0 { 1 } else { 2 };"),
    ("conditional", "pub fn f(a: i32) -> i32 {\n    let x = 1 if a > 0 else 2;\n    x\n}", "let x = if a > 0 { 1 } else { 2 };"),
    ("unclosed", "pub fn f(a: u64) -> u64 {\n    if a == 0 { 1 } else { 2 }\n\npub fn g() {}\n", "\n}\npub fn g() {}"),
    ("unclosed", "pub fn f(a: u64) -> u64 {\n    if a == 0 { 1 } else { 2 }\n", "{ 2 }\n\n}\n"),
    ("float_accumulator", "pub fn f(v: &[f64]) -> f64 {\n    let mut s = 0;\n    for x in v { s += x; }\n    s\n}", "let mut s = 0.0;"),
    ("float_accumulator", "pub fn f(v: &[f64]) -> f64 {\n    let mut s = vec![0; 3];\n    for x in v { s[0] += *x; }\n    s[0]\n}", "vec![0.0; 3]"),
    ("range_end", "pub fn f(n: i32) -> i32 {\n    let mut s = 0;\n    for i in 2..=(n as f64).sqrt() { s += i; }\n    s\n}", "(n as f64).sqrt() as _"),
    ("join_shown", "pub fn f(v: &[i32]) -> String {\n    v.join(\",\")\n}", 'v.iter().map(|x| x.to_string()).collect::<Vec<_>>().join(",")'),
    ("clone_key", "pub fn f(v: &mut Vec<(String, i32)>) {\n    v.sort_by_key(|p| &p.0);\n}", "|p| p.0.clone()"),
    ("anonymous_lifetime", "pub struct P<'a>(&'a str);\nimpl P {\n    pub fn len(&self) -> usize { self.0.len() }\n}", "impl P<'_> {"),
    ("missing_bounds", "use std::collections::HashMap;\npub struct L<K, V>(HashMap<K, V>);\nimpl<K, V> L<K, V> {\n    pub fn get(&self, k: &K) -> Option<&V> { self.0.get(k) }\n}", "impl<K: Eq + std::hash::Hash, V> L<K, V>"),
    ("missing_associated_type", "pub struct V(i32);\nimpl std::ops::Add for V {\n    fn add(self, o: V) -> V { V(self.0 + o.0) }\n}", "type Output = V;"),
    ("missing_associated_type", "pub struct V(i32);\nimpl Iterator for V {\n    fn next(&mut self) -> Option<i32> { None }\n}", "type Item = i32;"),
    ("own_copy", "pub fn f(v: &[i32]) -> Vec<i32> {\n    let mut w = v.clone();\n    w.sort();\n    w.to_vec()\n}", "let mut w = v.to_vec();"),
    ("clone_borrowed", "use std::collections::HashMap;\npub fn f(m: &mut HashMap<String, i32>) {\n    let k = m.keys().next().unwrap();\n    m.remove(k);\n}", "m.keys().next().unwrap().clone();"),
    ("clone_moved", "#[derive(Debug)]\npub enum E { A }\npub fn f(e: E) -> E {\n    let k = e;\n    println!(\"{:?}\", e);\n    k\n}", "let k = e.clone();"),
    ("convert", "pub fn f(v: &[u8]) -> String {\n    let mut s = String::new();\n    for b in v { s += format!(\"{}\", b); }\n    s\n}", 's += &format!("{}", b);'),
    ("ternary", "pub fn f(n: i32) -> i32 {\n    let x = n > 0 ? 1 : 2;\n    x\n}", "let x = if n > 0 { 1 } else { 2 };"),
    ("same_branches", "pub fn f(s: &str) -> String {\n    s.chars().map(|c| if c == 'a' { c.to_lowercase() } else { c.to_uppercase() }).collect()\n}", "{ c.to_lowercase().to_string() } else { c.to_uppercase().to_string() }"),
    ("pattern_by_value", "pub fn f(v: Vec<i32>) -> i32 {\n    let mut m = 0;\n    for &x in v { m = std::cmp::max(m, x); }\n    m\n}", "for x in v"),
    ("own_slice", "pub fn f(v: Vec<i32>) -> Vec<i32> {\n    let r = v[1..3];\n    r\n}", "let r = v[1..3].to_vec();"),
    ("error_as_text", "pub fn f(x: &str) -> Result<i32, String> {\n    let n: i32 = x.parse()?;\n    Ok(n)\n}", "x.parse().map_err(|e| e.to_string())?"),
    ("shown_by_debug", "pub fn f(v: Vec<i32>) -> String {\n    format!(\"{}\", v)\n}", 'format!("{:?}", v)'),
    ("concatenate", "pub fn f(a: Vec<i32>, b: Vec<i32>) -> Vec<i32> {\n    a + b\n}", "[a, b].concat()"),
    ("arithmetic_of_chars", "pub fn f(c: char) -> i32 {\n    c - 'a'\n}", "c as i32 - 'a' as i32"),
    ("arithmetic_of_chars", "pub fn f(c: char, k: u8) -> char {\n    c + k\n}", "((c as u8 + k) as char)"),
    ("index_of_iterator", "pub fn f(s: &str) -> i32 {\n    let parts = s.split(',');\n    parts[0].len() as i32\n}", "s.split(',').collect::<Vec<_>>();"),
    ("convert", "pub fn f(v: &[i32]) -> i32 {\n    v.first()\n}", "*v.first().unwrap()"),
    ("membership", "pub fn f(m: i32) -> bool {\n    if m in [1, 2] && m > 0 { true } else { false }\n}", "[1, 2].contains(&m) && m > 0"),
    ("membership", "pub fn f(m: char) -> bool {\n    if m not in ['a'] { true } else { false }\n}", "if !['a'].contains(&m) {"),
    ("else_if", "pub fn f(a: i32) -> i32 {\n    if a > 0 { 1 } elif a < 0 { 2 } else { 3 }\n}", "else if a < 0"),
    ("swap", "pub fn f() -> i32 {\n    let mut a = 1;\n    let mut b = 2;\n    a, b = b, a;\n    a - b\n}", "(a, b) = (b, a);"),
    ("whole_division", "pub fn f(a: i32) -> i32 {\n    let b = a // 2;\n    b\n}", "let b = a / 2;"),
    ("words", "pub fn f() -> bool {\n    True\n}", "    true"),
    ("power", "pub fn f(n: i32) -> i32 {\n    10 ** n\n}", "(10_i32).pow((n) as u32)"),
    ("closing_brace", "pub fn f() -> i32 {\n    1\n}\n}\n", "    1\n}\n\n"),
    ("fences", "Here it is:\n```rust\npub fn f() {}\n```\nHope it helps.\n", "// ```rust\npub fn f() {}\n// ```"),
    ("doubled", "pub fn f() -> i32 { 1 }\npub fn f() -> i32 { 1 }\n", "pub fn f() -> i32 { 1 }\n\n"),
    ("doubled", "fn f() -> i32 { 1 }\nfn main() { println!(\"{}\", f()); }\nfn main() { assert_eq!(f(), 1); }\n", "fn f() -> i32 { 1 }\n\nfn main() { assert_eq!"),
    ("convert", "pub fn f(v: &Vec<i32>) -> Vec<String> {\n    let n = vec![\"a\"];\n    n.to_vec()\n}", ".into_iter().map(|x| x.to_string()).collect()"),
    ("convert", "pub fn f(v: &Vec<i64>) -> i32 {\n    *v.iter().max().unwrap()\n}", "as i32"),
    ("convert", "pub fn f(s: &str) -> String {\n    s.chars().rev()\n}", ".collect::<String>()"),
    ("concatenate", "pub fn f(a: &str, b: &str) -> String {\n    &a[1..] + &b[..1]\n}", 'format!("{}{}", &a[1..], &b[..1])'),
    ("concatenate", "pub fn f(a: char, b: char) -> String {\n    a + b\n}", 'format!("{}{}", a, b)'),
    ("text_of_bytes", "pub fn f(s: &str) -> i32 {\n    s.as_bytes()[0..2].parse::<i32>().unwrap()\n}", "s[0..2].parse::<i32>()"),
    ("value_out_of_call", "pub fn f() -> String {\n    let mut s = String::new();\n    s.push(\"ab\");\n    s\n}", 's.push_str("ab")'),
    ("argument_by_reference", "use std::collections::HashMap;\npub fn f(m: &HashMap<&str, i32>, k: &String) -> bool {\n    m.contains_key(k)\n}", ".as_str()"),
    ("truth_of_number", "pub fn f(n: i32) -> i32 {\n    if n % 2 { 1 } else { 0 }\n}", "n % 2 != 0"),
    ("cast_operand", "pub fn f(a: usize, b: i32) -> usize {\n    a - b\n}", "a - b as usize"),
    ("cast_operand", "pub fn f(a: f64, b: i32) -> f64 {\n    a * b\n}", "a * b as f64"),
    ("index_by_usize", "pub fn f(v: &[i32], i: i32) -> i32 {\n    v[i - 1]\n}", "v[(i - 1) as usize]"),
    ("index_by_usize", "pub fn f(s: &str) -> char {\n    s[0]\n}", "s.chars().nth(0).unwrap()"),
    ("index_by_usize", "pub fn f(v: &[i32], a: i32, b: i32) -> &[i32] {\n    &v[a..b]\n}", "v[a as usize..b as usize]"),
    ("plain_cast", "pub fn f(n: u32) -> char {\n    (n + 1) as char\n}", "char::from_u32(n + 1).unwrap()"),
    ("plain_cast", "pub fn f(n: i32) -> char {\n    (n + 97) as char\n}", "char::from_u32((n + 97) as u32).unwrap()"),
    ("plain_cast", "pub fn f(s: &str) -> i32 {\n    s as i32\n}", "s.parse::<i32>().unwrap()"),
    ("float_method", "pub fn f(n: i32) -> f64 {\n    n.sqrt()\n}", "(n as f64).sqrt()"),
    ("order_floats", "pub fn f(v: &mut Vec<f64>) {\n    v.sort();\n}", "v.sort_by(|a, b| a.total_cmp(b))"),
    ("order_floats", "pub fn f(v: &[f64]) -> Option<&f64> {\n    v.iter().max()\n}", "max_by(|a, b| a.total_cmp(b))"),
    ("order_floats", "pub fn f(a: f64, b: f64) -> f64 {\n    std::cmp::max(a, b)\n}", "f64::max(a, b)"),
    ("compare_floats", "pub fn f(a: f64, b: f64) -> std::cmp::Ordering {\n    a.cmp(&b)\n}", "a.total_cmp(&b)"),
    ("signed_default", "pub fn f(v: &[i32]) -> i32 {\n    v.iter().position(|x| *x == 0).unwrap_or(-1)\n}", ".map(|x| x as i32).unwrap_or(-1)"),
    ("negate_unsigned", "pub fn f(a: usize) -> isize {\n    -a as isize\n}", "-(a as isize)"),
    ("not_before_comparison", "pub fn f(a: char) -> bool {\n    !a == 'b'\n}", "!(a == 'b')"),
    ("dereference_too_many", "pub fn f(a: i32) -> i32 {\n    *a + 1\n}", "    a + 1"),
    ("convert_operand", "pub fn f(a: char, b: &str) -> bool {\n    b == 'y' || a > 'b'\n}", "b == \"y\""),
    ("element_type", "pub fn f(s: &str) -> i32 {\n    s.chars().map(|c| c.to_digit(10).unwrap()).sum()\n}", ".map(|x| x as i32).sum()"),
    ("element_type", "pub fn f(v: &[i32]) -> Vec<i32> {\n    v.iter().filter(|x| **x > 0).collect()\n}", ".cloned().collect()"),
    ("element_type", "pub fn f(s: &str) -> Vec<String> {\n    s.split(' ').collect()\n}", ".map(|x| x.to_string()).collect()"),
    ("missing_type", "pub fn f(s: &str) -> usize {\n    let w = s.split(' ').collect();\n    w.len()\n}", "collect::<Vec<_>>()"),
    ("missing_type", "pub fn f(v: &[i32]) -> bool {\n    v.iter().sum() > 3\n}", "sum::<i32>()"),
    ("not_an_iterator", "pub fn f(s: &str) -> usize {\n    let mut n = 0;\n    for _c in s { n += 1; }\n    n\n}", "s.chars()"),
    ("not_an_iterator", "pub fn f(n: usize) -> usize {\n    let mut s = 0;\n    for i in n { s += i; }\n    s\n}", "for i in 0..n"),
    ("rename", "pub fn f(v: &[i32]) -> usize {\n    v.iter().rev().len2()\n}".replace("len2", "size"), ".count()"),
    ("rename", "pub fn f(s: &str) -> String {\n    s.upper()\n}", "s.to_uppercase()"),
    ("rename", "use std::collections::HashMap;\npub fn f(m: &HashMap<i32, i32>) -> bool {\n    m.has_key(&1)\n}", "contains_key(&1)"),
    ("iterate_first", "pub fn f(v: &Vec<i32>) -> Vec<i32> {\n    v.map(|x| x + 1).collect()\n}", "v.iter().map("),
    ("iterate_first", "pub fn f(s: String) -> String {\n    s.rev().collect()\n}", "s.chars().rev()"),
    ("collect_first", "pub fn f(s: &str) -> String {\n    s.chars().map(|c| c.to_string()).join(\"-\")\n}", '.collect::<Vec<_>>().join("-")'),
    ("collect_first", "pub fn f(v: &[i32]) -> Vec<i32> {\n    v.iter().cloned().sorted().collect()\n}", "sorted.sort(); sorted.into_iter() }"),
    ("collect_first", "pub fn f(v: &[i32]) -> Vec<i32> {\n    v.iter().cloned().unique().collect()\n}", ".filter(move |x| seen.insert(x.clone())) }"),
    ("arity", "pub fn f(v: &mut Vec<i32>) -> i32 {\n    v.pop(0)\n}", "v.remove(0)"),
    ("arity", "pub fn f(v: &Vec<i32>) -> Option<&i32> {\n    v.max()\n}", "v.iter().max()"),
    ("arity", "use std::cmp::max;\npub fn f(v: &Vec<i32>) -> i32 {\n    max(v)\n}", "(*v.iter().max().unwrap())"),
    ("free_function", "pub fn f(n: i32) -> i32 {\n    let mut s = 0;\n    for i in range(1, n) { s += i; }\n    s\n}", "in (1..n) {"),
    ("free_function", "pub fn f(v: &[i32]) -> usize {\n    len(v)\n}", "(v.len())"),
    ("free_function", "pub fn f(n: i32) -> f64 {\n    sqrt(n)\n}", "((n as f64).sqrt())"),
    ("map_entry", "use std::collections::HashMap;\npub fn f(m: &mut HashMap<i32, i32>) {\n    *m.setdefault(1, 0) += 1;\n}", "entry(1).or_insert(0)"),
    ("character_of_text", "pub fn f(c: char) -> bool {\n    c == \"(\".to_char()\n}", "c == '('"),
    ("character_of_text", "pub fn f(s: &str) -> bool {\n    s.is_alphabetic()\n}", "s.chars().all(|c| c.is_alphabetic())"),
    ("number_method", "pub fn f(a: f64) -> bool {\n    a.is_integer()\n}", "(a.fract() == 0.0)"),
    ("clone_borrowed", "pub fn f(v: &mut Vec<i32>) {\n    for x in v.iter() { v.push(*x); }\n}", "v.clone().iter()"),
    ("clone_moved", "pub fn f(v: Vec<i32>) -> (Vec<i32>, usize) {\n    let w = v;\n    (w, v.len())\n}", "let w = v.clone();"),
    ("own_copy", "pub fn f(v: &Vec<i32>) -> i32 {\n    v.sort();\n    v[0]\n}", "let mut v = v.clone();"),
    ("assign_into_map", "use std::collections::HashMap;\npub fn f(m: &mut HashMap<i32, i32>) {\n    m[&1] = 2;\n}", "m.insert(1.clone(), 2)"),
    ("assign_into_map", "use std::collections::HashMap;\npub fn f(m: &mut HashMap<i32, i32>) {\n    m[&1] += 2;\n}", "*m.get_mut(&1).unwrap() += 2"),
    ("std_path", "pub fn f() -> HashMap<i32, i32> {\n    HashMap::new()\n}", "use std::collections::HashMap;"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "before", "after"), MENDED)
def test_a_rule_proposes_its_edit(
    compile_text: Compile, rule: str, before: str, after: str
) -> None:
    texts = list(proposals(compile_text, rule, before))
    assert any(after in text for text in texts), texts


def proposals(compile_text: Compile, rule: str, text: str) -> Iterator[str]:
    """The texts that the rule makes of one that doesn't compile."""
    compilation, source = compile_text(text)
    assert not compilation.ok
    for error in compilation.errors:
        for edits in propose(error, source):
            if edits.edits[0].rule == rule:
                yield apply(source.content, edits.edits).decode()


# (rule, a text with an error that the rule listens to and must leave alone)
LEFT_ALONE = [
    ("conditional", "pub fn f(a: i32) -> i32 {\n    if a > 0 1 else 2\n}"),
    ("unclosed", "pub fn f(a: u64) -> u64 {\n    g(a\n"),
    ("float_accumulator", "pub fn f(v: &[f64], n: i32) -> i32 {\n    let mut s = n;\n    for x in v { s += x; }\n    s\n}"),
    ("range_end", "pub fn f(n: f64) -> Vec<i32> {\n    vec![1, n]\n}"),
    ("join_shown", "pub struct A;\npub fn f(v: &[A]) -> String {\n    v.join(\",\")\n}"),
    ("clone_key", "pub fn f<'a>(a: &'a str, b: &str) -> &'a str {\n    b\n}"),
    ("anonymous_lifetime", "pub struct P<'a>(&'a str);\nimpl P<'b> {\n    pub fn f(&self) {}\n}"),
    ("missing_bounds", "pub struct A;\npub fn f(v: &[A]) -> Vec<A> {\n    v.concat()\n}"),
    ("missing_associated_type", "pub struct V(i32);\nimpl Clone for V {}"),
    ("ternary", "pub fn f(n: i32) -> i32 {\n    n ? 1\n}"),
    ("same_branches", "pub fn f(a: bool) -> i32 {\n    if a { 1 } else { \"b\" }\n}"),
    ("pattern_by_value", "pub fn f(v: Vec<i32>) {\n    for (a, b) in v { a + b; }\n}"),
    ("own_slice", "pub fn f(v: [i32]) -> usize {\n    v.len()\n}"),
    ("error_as_text", "pub struct E;\npub fn f(x: &str) -> Result<i32, E> {\n    let n: i32 = x.parse()?;\n    Ok(n)\n}"),
    ("shown_by_debug", "pub struct A;\npub fn f(a: A) -> String {\n    format!(\"{:?}\", a)\n}"),
    ("arithmetic_of_chars", "pub fn f(c: char, d: &str) -> char {\n    c - d\n}"),
    ("index_of_iterator", "pub struct A<T>(T);\npub fn f(a: A<i32>) -> i32 {\n    a[0]\n}"),
    ("membership", "pub fn f() {\n    for i on [1, 2] {}\n}"),
    ("else_if", "pub fn f(a: i32) -> i32 {\n    if a > 0 { 1 } otherwise { 2 }\n}"),
    ("swap", "pub fn f() {\n    let a, b = 1, 2;\n}"),
    ("whole_division", "pub fn f(a: i32) -> i32 {\n    let b = a * // the width\n    b\n}"),
    ("words", "pub fn f() -> bool {\n    Truth\n}"),
    ("power", "pub fn f(n: i32) -> i32 {\n    10 * *n\n}"),
    ("closing_brace", "pub fn f() -> i32 { 1 }}\n"),
    ("fences", "pub fn f( {}\n"),
    ("doubled", "pub fn f() -> i32 { 1 }\npub fn f() -> i32 { 2 }\n"),
    ("doubled", "fn main() { println!(\"a\"); }\nfn main() { println!(\"b\"); }\n"),
    ("convert", "pub struct A;\npub struct B;\npub fn f() -> A {\n    B\n}"),
    ("concatenate", "pub struct A;\npub fn f(a: A) -> A {\n    a + A\n}"),
    ("text_of_bytes", "pub fn f(b: &[u8]) -> i32 {\n    b[0..2].parse::<i32>().unwrap()\n}"),
    ("value_out_of_call", "pub fn f(v: &mut Vec<i32>) {\n    v.push(\"a\");\n}"),
    ("argument_by_reference", "use std::collections::HashMap;\npub fn f(m: &HashMap<i32, i32>, k: &str) -> bool {\n    m.contains_key(k)\n}"),
    ("truth_of_number", "pub fn f(n: String) -> i32 {\n    if n { 1 } else { 0 }\n}"),
    ("cast_operand", "pub fn f(a: usize, b: &str) -> usize {\n    a - b\n}"),
    ("index_by_usize", "pub fn f(v: &[i32], i: &str) -> i32 {\n    v[i]\n}"),
    ("plain_cast", "pub struct A;\npub fn f(a: A) -> i32 {\n    a as i32\n}"),
    ("float_method", "pub fn f(n: String) -> f64 {\n    n.sqrt()\n}"),
    ("order_floats", "#[derive(PartialEq)]\npub struct A;\npub fn f(v: &mut Vec<A>) {\n    v.sort();\n}"),
    ("compare_floats", "pub struct A;\npub fn f(a: A, b: A) {\n    a.cmp(&b);\n}"),
    ("signed_default", "pub fn f(v: &[usize]) -> usize {\n    v[0].max(-1)\n}"),
    ("negate_unsigned", "pub fn f() -> usize {\n    -1\n}"),
    ("not_before_comparison", "pub fn f(a: &str) -> bool {\n    !a\n}"),
    ("dereference_too_many", "pub fn f(n: i32) -> i32 {\n    10 ** n\n}"),
    ("convert_operand", "pub struct A;\npub fn f(a: A) -> bool {\n    a == \"xy\"\n}"),
    ("element_type", "pub struct A;\npub fn f(v: &[A]) -> Vec<i32> {\n    v.iter().collect()\n}"),
    ("missing_type", "pub fn f() {\n    let v = Vec::new();\n}"),
    ("not_an_iterator", "pub struct A;\npub fn f(a: A) {\n    for _x in a {}\n}"),
    ("rename", "pub struct A;\npub fn f(a: A) {\n    a.upper();\n}"),
    ("rename", "pub fn f(s: &str) -> bool {\n    s.is_ascii_vowel()\n}"),
    ("iterate_first", "pub fn f(v: &Vec<i32>) {\n    v.shuffle();\n}"),
    ("collect_first", "pub fn f(v: &[i32]) {\n    v.iter().shuffle();\n}"),
    ("arity", "fn g(a: i32, b: i32) -> i32 { a + b }\npub fn f() -> i32 {\n    g(1)\n}"),
    ("free_function", "pub fn f(n: i32) -> bool {\n    is_prime(n)\n}"),
    ("map_entry", "use std::collections::HashMap;\npub fn f(m: &mut HashMap<i32, i32>) {\n    m.shuffle(1, 0);\n}"),
    ("character_of_text", "pub fn f(s: &str) -> char {\n    s.to_char()\n}"),
    ("number_method", "pub fn f(a: i32) -> i32 {\n    a.frobnicate()\n}"),
    ("clone_borrowed", "pub fn f(v: &mut Vec<i32>) {\n    let a = &mut v[0];\n    let b = &mut v[1];\n    std::mem::swap(a, b);\n}"),
    ("own_copy", "pub fn f(v: &Vec<i32>) {\n    v.sort();\n}"),
    ("assign_into_map", "pub fn f(s: &str) {\n    let t = s;\n    t = \"a\";\n}"),
    ("std_path", "pub fn f() -> Regex {\n    Regex::new()\n}"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "text"), LEFT_ALONE)
def test_a_rule_leaves_other_errors_alone(compile_text: Compile, rule: str, text: str) -> None:
    assert list(proposals(compile_text, rule, text)) == []


def test_every_rule_is_in_both_tables() -> None:
    names = {rule.name for rule in RULES}
    assert names == {rule for rule, _, _ in MENDED}
    assert names - {rule for rule, _ in LEFT_ALONE} <= {"clone_moved"}


# (rustc's words, a text that makes rustc say them)
SAID = [
    ("replace the comma with a semicolon", "pub fn f(a: i32, n: usize) -> Vec<i32> {\n    vec![a, n]\n}"),
    ("the maximum value of", "pub fn f() -> usize {\n    -1\n}"),
    ("removing the method call", "fn g(_: &str) {}\npub fn f(s: &str) {\n    g(s.to_string())\n}"),
    ("remove the extra argument", "fn g(_: i32) {}\npub fn f() {\n    g(1, 2)\n}"),
    ("implicit `Sized` bound", "pub trait T { fn t(&self); }\nimpl<X: std::fmt::Debug> T for X { fn t(&self) {} }\npub fn f(s: &str) {\n    (*s).t()\n}"),
    ("explicitly ignore it", "pub struct P { pub a: i32, pub b: i32 }\npub fn f(p: P) -> i32 {\n    let P { a } = p;\n    a\n}"),
    ("ignore missing fields", "pub struct P { pub a: i32, pub b: i32 }\npub fn f(p: P) -> i32 {\n    let P { a } = p;\n    a\n}"),
    ("assigning a value", "pub fn f() -> i32 {\n    let c: i32;\n    c\n}"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "text"), SAID)
def test_what_changes_meaning_is_never_applied(
    compile_text: Compile, words: str, text: str
) -> None:
    compilation, source = compile_text(text)
    said = [
        (error, child)
        for error in compilation.errors
        for child in error.children
        if words in child.message and any(s.replacement is not None for s in child.spans)
    ]
    assert said, [child.message for e in compilation.errors for child in e.children]
    for error, child in said:
        unusable = {s.byte_start for s in child.spans if s.replacement is not None}
        replacements = {s.replacement for s in child.spans}
        taken = [e for edits in suggested(error, source) for e in edits.edits]
        assert not [e for e in taken if e.start in unusable and e.replacement in replacements]


def test_every_entry_of_the_list_has_its_text() -> None:
    assert {never.words for never in NEVER} == {words for words, _ in SAID}


@pytest.mark.parametrize(
    ("text", "edit", "verdict"),
    [
        ("s.trim().len()", (1, 8, ""), True),
        ("f(a, b)", (3, 6, ""), True),
        ("!a", (0, 1, ""), True),
        ("&a", (0, 1, ""), False),
        ("(a)", (0, 1, ""), False),
        ("let mut a", (4, 8, ""), False),
        ("a.foo()", (2, 5, "bar"), False),
        ("a and b", (2, 5, "&&"), False),
    ],
)
def test_taking_code_away_is_told_from_other_edits(
    text: str, edit: tuple[int, int, str], verdict: bool
) -> None:
    assert takes_away(text.encode(), EditSet((Edit(*edit),))) is verdict


@pytest.mark.parametrize(
    "hole", ["todo!()", "#[allow(dead_code)]", "/* value */", "unsafe { x }", "unimplemented!()"]
)
def test_holes_and_silencing_are_seen(hole: str) -> None:
    assert leaves_holes(EditSet((Edit(0, 0, hole),)))
    assert not leaves_holes(EditSet((Edit(0, 0, "x.clone()"),)))


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [("lenght", "length", False), ("is_ascii_vowel", "is_ascii", True), ("j", "i", True)],
)
def test_a_similar_name_is_taken_for_a_slip_only(old: str, new: str, verdict: bool) -> None:
    edits = EditSet((Edit(0, len(old), new),))
    message = "there is a method with a similar name"
    assert guesses_name(old.encode(), message, edits) is verdict


def test_the_alternatives_of_one_help_are_taken_apart() -> None:
    def span(start: int, text: str) -> Span:
        return Span("a.rs", 1, 1, start, start, replacement=text, applicability="MaybeIncorrect")

    row = [span(9, ")"), span(2, "("), span(2, "&(")]
    found = [
        sorted(e.replacement for e in s.edits)
        for s in alternatives(row, None, Source(b" " * 20, "a.rs"))
    ]
    assert found == [["(", ")"], ["&("]]


@pytest.mark.parametrize(
    "change",
    [{"file": "b.rs"}, {"from_macro": True}, {"applicability": "HasPlaceholders"}],
    ids=["other file", "macro", "placeholder"],
)
def test_a_set_with_an_unusable_part_is_dropped_whole(change: dict[str, object]) -> None:
    good = Span("a.rs", 1, 1, 2, 2, replacement="(", applicability="MachineApplicable")
    bad = replace(good, byte_start=5, byte_end=5, **change)  # type: ignore[arg-type]
    source = Source(b"m!(a, b);", "a.rs")
    assert list(alternatives([good, bad], None, source)) == []


TESTED = """pub fn f(a: i32) -> i32 { a }
#[cfg(test)]
mod checks { fn helper() {} }
#[test]
fn it_works() { assert_eq!(super::f(1), 1); }
fn main() { assert!(true); }
"""


def test_tests_are_protected() -> None:
    source = Source(TESTED.encode())
    found = [source.slice(*region) for region in regions.test_regions(source)]
    assert found == [line for line in TESTED.splitlines()[2:] if not line.startswith("#")]
    inside = TESTED.index("super")
    assert not allowed(source, EditSet((Edit(inside, inside, "&"),)), regions.test_regions(source))
    assert allowed(source, EditSet((Edit(26, 27, "*a"),)), regions.test_regions(source))


def test_blanked_tests_keep_all_places() -> None:
    blank = blank_tests(Source(TESTED.encode()))
    assert len(blank) == len(TESTED)
    assert b"assert" not in blank
    assert blank.startswith(b"pub fn f(a: i32) -> i32 { a }\n")


SIGNATURES = """pub fn open(a: i32) -> i32 { helper(a) }
fn helper(a: i32) -> i32 { a }
fn unused(a: i32) -> i32 { a }
macro_rules! m { ($a:expr) => { $a + 1 } }
"""


@pytest.mark.parametrize(
    ("place", "text", "code", "verdict"),
    [
        ("a: i32) -> i32 { helper", "mut ", "E0384", True),
        ("i32) -> i32 { helper", "&", "E0308", False),
        ("i32) -> i32 { a }\nfn unused", "&", "E0308", True),
        ("i32) -> i32 { a }\nmacro", "&", "E0308", False),
        ("i32) -> i32 { helper", "&'a ", "E0106", True),
        ("$a + 1", "*", "E0308", False),
    ],
    ids=["mut", "public", "private and called", "private alone", "lifetime", "macro body"],
)
def test_signatures_that_others_rely_on_stay(
    place: str, text: str, code: str, verdict: bool
) -> None:
    at = SIGNATURES.index(place)
    edits = EditSet((Edit(at, at, text, code),))
    assert allowed(Source(SIGNATURES.encode()), edits, ()) is verdict


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("&&'static str", Type(2, "str")),
        ("std::vec::Vec<&'a str>", Type(0, "Vec", ("&str",))),
        ("&mut HashMap<K, Vec<(A, B)>>", Type(1, "HashMap", ("K", "Vec<(A, B)>"))),
        ("[i32; 3]", Type(0, "[i32; 3]")),
    ],
)
def test_types_are_read_as_rustc_writes_them(text: str, kind: Type) -> None:
    assert read(text) == kind


@pytest.mark.parametrize(
    ("expected", "found", "way"),
    [
        ("usize", "i32", "{} as usize"),
        ("i32", "&i32", "*{}"),
        ("i32", "&&usize", "**{} as i32"),
        ("String", "&str", "{}.to_string()"),
        ("&str", "String", "&{}"),
        ("i32", "Option<&i32>", "*{}.unwrap()"),
        ("String", "Option<&String>", "{}.unwrap().clone()"),
        ("Vec<i32>", "&[i32]", "{}.to_vec()"),
        ("String", "&String", "{}.clone()"),
        ("f64", "i32", "{} as f64"),
    ],
)
def test_conversions_keep_the_value(expected: str, found: str, way: str) -> None:
    assert conversions(read(expected), read(found))[0] == way


@pytest.mark.parametrize(
    ("expected", "found"), [("A", "B"), ("_", "i32"), ("bool", "i32"), ("()", "i32")]
)
def test_unrelated_types_have_no_conversion(expected: str, found: str) -> None:
    assert conversions(read(expected), read(found)) == []


@pytest.mark.parametrize(
    ("expected", "found", "step"),
    [
        ("i32", "&i32", ".cloned()"),
        ("String", "char", ".map(|x| x.to_string())"),
        ("(String, usize)", "(&str, i32)", ".map(|(a, b)| (a.to_string(), b as usize))"),
        ("A", "B", None),
    ],
)
def test_elements_are_adapted(expected: str, found: str, step: str | None) -> None:
    assert element_step((expected,), (found,)) == step


def test_labels_without_types_say_nothing() -> None:
    assert expected_found("expected `i32`, found `&usize`") == (read("i32"), read("&usize"))
    assert expected_found("expected due to this") is None
    assert expected_found(None) is None


CODES = sorted({code or "" for rule in RULES for code in rule.codes})


@given(st.binary(max_size=200), st.data())
def test_no_rule_trips_over_any_source(content: bytes, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, len(content)))
    message = data.draw(
        st.sampled_from(
            [
                "mismatched types",
                "the type `[i32]` cannot be indexed by `i32`",
                "cannot add `f64` to `i32`",
                "no method named `sorted` found for struct `Iter<'_, i32>` in the current scope",
                "expected `{`, found keyword `in`",
                "unexpected closing delimiter: `}`",
                "the name `main` is defined multiple times",
            ]
        )
    )
    label = "expected `usize`, found `i32`"
    span = Span("a.rs", 1, 1, start, end, primary=True, label=label)
    code = data.draw(st.sampled_from(CODES)) or None
    diagnostic = Diagnostic("error", message, code, (span,))
    for edits in propose(diagnostic, Source(content, "a.rs")):
        assert edits.edits


def test_the_repaired_tables_compile(compile_text: Compile) -> None:
    """A sample of the table, mended as a whole: rules and search work together."""
    failed = []
    for rule, before, _ in MENDED[::4]:
        _, source = compile_text(before)
        result = repair(
            source.content,
            lambda text: compile_text(text.decode())[0],
            file=source.file,
            limits=RepairLimits(rustc_runs=8, seconds=60),
        )
        if not result.compiles:
            failed.append((rule, result.source.decode()))
    assert failed == []
