package cli_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
)

// Neither a terminal nor GitHub Actions finds a command in text from elsewhere, however it is cut
// into writes.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"main.leak  *std::vector<ü>\t12\n":          "main.leak  *std::vector<ü>\t12\n",
		"\x1b]0;title\x07\n::add-mask::x\r\nTest\n": "\\x1b]0;title\\x07\n:\\:add-mask::x\\x0d\nTest\n",
		"a\n  ::error::x\n":                         "a\n  :\\:error::x\n",
		"::stop-commands::x":                        ":\\:stop-commands::x",
		"a ##[add-mask]x\n":                         "a ##\\[add-mask]x\n",
		"\x7f\u0085\u2028\u202e\xffx\n":             "\\x7f\\u0085\\u2028\\u202e\\xffx\n",
		"\x1b[31mred\x1b[0m\n":                      "\\x1b[31mred\\x1b[0m\n",
	} {
		for size := 1; size <= len(text); size++ {
			var b strings.Builder
			w := cli.NewPlain(&b, false)
			for from := 0; from < len(text); from += size {
				part := text[from:min(from+size, len(text))]
				n, err := w.Write([]byte(part))
				require.NoError(t, err)
				require.Equal(t, len(part), n)
			}
			require.Equal(t, want, b.String(), "%q in parts of %d", text, size)
		}
		require.Equal(t, want, cli.PlainText(text))
	}
	var b strings.Builder
	_, err := cli.NewPlain(&b, true).Write([]byte("\x1b[31mred\x1b[0m \x1b[8mhidden\n"))
	require.NoError(t, err)
	require.Equal(t, "\x1b[31mred\x1b[0m \\x1b[8mhidden\n", b.String())
}

// Escaped text of one line has no line ends, and is the same when it is escaped once more.
func TestPlainLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"TestÜ/sub":                "TestÜ/sub",
		"\x1b]0;t\x07\n::x\r\n\ty": `\x1b]0;t\x07\x0a::x\x0d\x0a\x09y`,
		"##[group]\u2028\xff":      `##\[group]\u2028\xff`,
		"\xc3":                     `\xc3`,
	} {
		require.Equal(t, want, cli.PlainLine(text))
		require.Equal(t, want, cli.PlainLine(want))
	}
}
