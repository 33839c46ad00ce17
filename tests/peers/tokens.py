"""Byte-level BPE beside tokenizers and tiktoken: `tokens.py flowc text…` compares the tokens of each text by a vocabulary learned
from it, of random characters, of every character and of long words; and says how fast each is."""
import json
import os
import random
import subprocess
import sys
import tempfile
import time

import numpy as np
import tiktoken
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
SIZE = 8000  # tokens of a vocabulary
flowc, texts = os.path.abspath(sys.argv[1]), [os.path.abspath(path) for path in sys.argv[2:]]


def bytes_of_characters():
    seen = [*range(33, 127), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in seen]
    return {chr(byte): byte for byte in seen} | {chr(256 + i): byte for i, byte in enumerate(hidden)}


class Peers:
    def __init__(self, text):
        self.tokenizers = Tokenizer(models.BPE())
        self.tokenizers.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=SIZE, initial_alphabet=alphabet, show_progress=False)
        self.tokenizers.train_from_iterator([text], trainer)
        self.tokenizers.model.save(".")
        vocabulary = json.load(open("vocab.json"))
        byte_of = bytes_of_characters()
        ranks = {bytes(byte_of[c] for c in token): number for token, number in vocabulary.items()}
        self.tiktoken = tiktoken.Encoding("learned", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})


def program(path, room):
    with open("p.flow", "w") as out:
        out.write(f'pipeline p {{ return tar("{path}") |> map(x: bpe(txt, "vocab.json", "merges.txt") |> pad({room}, value = -1)) '
                  '|> npy("x.npy") }\n')


def flowc_tokens(text):
    open("0.txt", "wb").write(text)
    subprocess.run(["tar", "cf", "t.tar", "0.txt"], check=True)
    program("t.tar", len(text) + 1)
    subprocess.run([flowc, "run", "p.flow"], check=True, stderr=subprocess.DEVNULL)
    x = np.load("x.npy")[0]
    return x[x >= 0].tolist()


def random_character():
    code = random.choice([random.randrange(0x80), random.randrange(0x800), random.randrange(0x10000),
                          random.randrange(0x110000), random.choice([32, 32, 10, 9, 39, 0x2019, 0x85, 0xA0, 0x3000, 0x663])])
    return random_character() if 0xD800 <= code < 0xE000 else chr(code)


def cases(text):
    random.seed(1)
    words = text.split()
    between = [" ", "  ", "\n", "'s", "'ll", " \t", "\u00a0", "1", "…", "é", ""]
    yield "the text", text
    yield "random characters", "".join(random_character() for _ in range(300000))
    yield "random ASCII", "".join(chr(random.choice([random.randrange(128), 32, 10, 39, 115])) for _ in range(300000))
    yield "random words", "".join(random.choice(words) + random.choice(between) for _ in range(100000))
    yield "every character", "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    yield "long words", "a" * 100000 + " " + "".join(random.choice("etaoin") for _ in range(300000))
    yield "space", " " * 100000 + "\n" * 1000 + "x"


def speed(name, size, encode):
    best = 0
    for _ in range(3):
        start = time.process_time() + sum(os.times()[2:4])
        encode()
        best = max(best, size / (time.process_time() + sum(os.times()[2:4]) - start))
    print(f"    {name}: {best / 1e6:.1f} MB/s of CPU time")


def measure(peers, text):
    """Of flowc the whole program: it also reads the text and lays the tokens into rows."""
    lines = [line for line in (text * 20).split("\n") if line]
    open("lines.txt", "w").write("\n".join(lines))
    size = os.path.getsize("lines.txt")
    with open("p.flow", "w") as out:
        out.write('pipeline p { return lines("lines.txt") |> map(x: bpe(line, "vocab.json", "merges.txt")) |> pack(1000) '
                  '|> take(1) |> print() }\n')
    subprocess.run([flowc, "build", "p.flow", "-o", "p"], check=True)
    speed("flowc", size, lambda: subprocess.run(["./p"], check=True, stdout=subprocess.DEVNULL))
    speed("tiktoken", size, lambda: [peers.tiktoken.encode_ordinary(line) for line in lines])
    speed("tokenizers", size, lambda: peers.tokenizers.encode_batch(lines))


failed = 0
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for path in texts:
        text = open(path, encoding="utf-8").read()
        peers = Peers(text)
        print(path)
        for name, case in cases(text):
            tokens = flowc_tokens(case.encode())
            same = (tokens == peers.tokenizers.encode(case, add_special_tokens=False).ids,
                    tokens == peers.tiktoken.encode_ordinary(case))
            failed += not all(same)
            print(f"    {name}: {len(tokens)} tokens; as tokenizers: {same[0]}, as tiktoken: {same[1]}{'' if all(same) else ' FAILED'}")
        measure(peers, text)
    os.chdir("/")
print("all tokens are the same" if not failed else f"{failed} FAILED")
sys.exit(failed > 0)
