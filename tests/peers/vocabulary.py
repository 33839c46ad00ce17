"""Learns a byte-level BPE vocabulary from the first lines of a text, each by itself: writes examples/data/shakespeare-vocab.json
and shakespeare-merges.txt, as `vocabulary.py examples/data/tinyshakespeare.txt.gz 36000 1024 examples/data/shakespeare-`."""
import gzip
import json
import sys

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

text, lines, size, prefix = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                              show_progress=False)
tokenizer.train_from_iterator(gzip.open(text, "rt").read().split("\n")[:lines], trainer)
learned = json.loads(tokenizer.to_str())["model"]
with open(prefix + "vocab.json", "w") as out:
    json.dump(dict(sorted(learned["vocab"].items(), key=lambda item: item[1])), out, separators=(",", ":"))
    out.write("\n")
with open(prefix + "merges.txt", "w") as out:
    out.write("#version: 0.2\n")
    out.writelines(" ".join(pair) + "\n" for pair in learned["merges"])
