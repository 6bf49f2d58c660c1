package leakvet_test

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/leakgate/leakgate/cmd/leakgate/leakvet"
)

func TestAnalyzer(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), leakvet.Analyzer, "a", "helper", "holder", "misuse", "prog")
}
