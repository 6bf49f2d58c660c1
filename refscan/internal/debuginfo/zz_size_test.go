package debuginfo

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"
)

func TestZZSize(t *testing.T) {
	fs, _ := filepath.Glob("/tmp/szbin/*")
	for _, p := range fs {
		f, err := openELF(p)
		if err != nil {
			t.Fatal(err)
		}
		b, err := buildImage(f, identity{})
		os.Stdout.WriteString(filepath.Base(p) + " ")
		if err != nil {
			os.Stdout.WriteString(err.Error() + "\n")
			continue
		}
		s := sha256.Sum256(b)
		os.Stdout.WriteString(string(append([]byte(nil), []byte(hexs(s[:8]))...)) + "\n")
	}
}

func hexs(b []byte) string {
	s := ""
	for _, c := range b {
		s += string(hexDigits[c>>4]) + string(hexDigits[c&15])
	}
	return s
}
