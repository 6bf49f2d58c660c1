package examples

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A leakIdentity has the parts of a growth from which package outcome of leakgate makes the
// fingerprint: the path and the type, without the numbers that compilers give to functions.
type leakIdentity struct{ path, typ string }

var numbering = regexp.MustCompile(`\.(func|gowrap|deferwrap)\d+(\.\d+)*`)

func (l leakIdentity) fingerprint() string {
	sum := sha256.Sum256([]byte("growth\x00" + l.path + "\x00" + l.typ + "\x00"))
	return hex.EncodeToString(sum[:16])
}

// fingerprints are those of the corpus, by the leak's name.
type fingerprints map[string]leakIdentity

// fingerprintFile has the expected fingerprints. A test of package outcome checks that leakgate
// makes the same ones.
var fingerprintFile = filepath.Join("corpus", "testdata", "fingerprints.txt")

const fingerprintHeader = `# The fingerprint of each leak of the corpus: of its first finding, with the path and the type that it is made of.
# Who has closed an alert goes by it, so it must not change: not with the build, the Go version, or a version of leakgate.
# Made by "go test -run TestCorpusTests/leaks -update ." in the folder above, which adds what is new.
`

// recordedLeak reads the first finding of an assertion's record.
func recordedLeak(t *testing.T, file string) leakIdentity {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var record struct {
		Bounds []struct{ Path, Type string }
	}
	if err := json.Unmarshal(content, &record); err != nil || len(record.Bounds) == 0 {
		t.Fatalf("no finding in %s: %v", content, err)
	}
	first := record.Bounds[0]
	return leakIdentity{numbering.ReplaceAllString(first.Path, ".$1"), numbering.ReplaceAllString(first.Type, ".$1")}
}

// compare expects the fingerprints that are checked in; with -update, it adds those that are
// missing there.
func (f fingerprints) compare(t *testing.T) {
	t.Helper()
	content, err := os.ReadFile(fingerprintFile)
	if err != nil && !(*update && os.IsNotExist(err)) {
		t.Fatal(err)
	}
	known := make(map[string]string)
	for line := range strings.Lines(string(content)) {
		if name, _, ok := strings.Cut(line, "\t"); ok {
			known[name] = line
		}
	}
	for name, leak := range f {
		line := fmt.Sprintf("%s\t%s\t%s\t%s\n", name, leak.fingerprint(), leak.path, leak.typ)
		switch {
		case known[name] == "" && *update:
			known[name] = line
		case known[name] != line:
			t.Errorf("the fingerprint of %s is\n%swas\n%s", name, line, known[name])
		}
	}
	if !*update {
		return
	}
	text := fingerprintHeader
	for _, name := range slices.Sorted(maps.Keys(known)) {
		text += known[name]
	}
	if err := os.WriteFile(fingerprintFile, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
