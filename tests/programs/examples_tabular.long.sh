# The examples on tables, series and words reach what they state.
. tests/programs/lib/examples.sh
reaches 0.62 above r2 housing_linear
reaches 0.78 above r2 housing
reaches 0.78 above binary_accuracy titanic
reaches 0.70 above f_score titanic
reaches 0.86 above auc titanic
reaches 0.108 below rmse sine
reaches 0.31 above mean word2vec
reaches 2.58 below loss word2vec
