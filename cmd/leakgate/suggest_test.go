package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
)

func TestSuggestions(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"veiw"}, "did you mean view?"},
		{[]string{"run", "-shuffle=on"}, "flags of go test come after --"},
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, cli.Usage, run(c.args, &stdout, &stderr, nil))
		assert.Contains(t, stderr.String(), c.want)
	}
	assert.Empty(t, cli.DidYouMean("TestSomethingElse", []string{"TestA"}))
}
