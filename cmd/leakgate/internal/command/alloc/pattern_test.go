package alloc

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSelectionOfTheSameTests(t *testing.T) {
	names := []string{"BenchmarkA", "ExampleA", "TestA", "TestB"}
	for name, c := range map[string]struct{ from, to selection }{
		"all tests":      {selection{}, selection{run: "^(ExampleA|TestA|TestB)$"}},
		"some":           {selection{run: "Test", bench: "."}, selection{run: "^(TestA|TestB)$", bench: "^(BenchmarkA)$"}},
		"none":           {selection{run: "^$", bench: "B$"}, selection{run: "^$", bench: "^$"}},
		"parts":          {selection{run: "TestA/x"}, selection{run: "^(TestA)$/x"}},
		"a skip":         {selection{skip: "B"}, selection{run: "^(ExampleA|TestA)$"}},
		"alternatives":   {selection{run: "TestA/x|TestB"}, selection{run: "TestA/x|TestB", skip: "^(TestOld)$"}},
		"a skipped part": {selection{skip: "TestA/x"}, selection{skip: "TestA/x|^(TestOld)$"}},
	} {
		assert.Equal(t, c.to, c.from.restrictTo(names, []string{"TestOld"}), name)
		assert.Equal(t, c.from, c.from.restrictTo(names, nil), name)
	}
	assert.Equal(t, []string{"-test.run=a", "-test.bench=b", "-test.v"}, selection{run: "a", bench: "b"}.apply([]string{"-test.run=c", "-test.skip=d", "-test.v"}))
}
