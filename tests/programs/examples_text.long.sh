# The examples on text as they stand: what they say of the held-out text reaches the stated figures.
. tests/programs/lib/examples.sh
trained char_gpt && reaches char_gpt loss '<' 1.65
reaches char_gpt loss '>' 1
trained char_lstm && reaches char_lstm loss '<' 1.7
reaches char_lstm loss '>' 1
trained bpe_gpt && reaches bpe_gpt loss '<' 3.95
reaches bpe_gpt loss '>' 3
