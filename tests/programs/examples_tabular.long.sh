# The examples on tables, series and words reach what they state.
. tests/programs/lib/examples.sh
trained housing_linear && reaches housing_linear r2 '>' 0.62
trained housing && reaches housing r2 '>' 0.78
trained titanic && reaches titanic binary_accuracy '>' 0.78
reaches titanic f_score '>' 0.70
reaches titanic auc '>' 0.86
trained sine && reaches sine rmse '<' 0.108
trained word2vec && reaches word2vec mean '>' 0.31
reaches word2vec loss '<' 2.58
