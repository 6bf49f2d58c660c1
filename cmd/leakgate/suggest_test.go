package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
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
		assert.Equal(t, exitUsage, run(c.args, &stdout, &stderr, nil))
		assert.Contains(t, stderr.String(), c.want)
	}
	assert.Empty(t, didYouMean("TestSomethingElse", []string{"TestA"}))
}
