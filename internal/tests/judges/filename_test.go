package judges_test

import (
	"strings"
	"testing"

	"golang.org/x/mod/module"

	"github.com/leakgate/leakgate/golden"
)

// FuzzFileName checks that a module's zip file may contain the golden file of each test: zip files
// do not allow all names that file systems allow.
func FuzzFileName(f *testing.F) {
	for _, name := range []string{
		"TestA", "TestA/b", "TestA/b/c#01", "Test/CON", "Test/aux.txt", "Test/trailing.", "Test/a:b*c?d\"e<f>g|h", "Test/ü/日本",
		"Test/..", "Test/.", "Test//x", "Test/ ", "Test/~1", "Test/a~1", "Test/\x00\x7f", "Test/\xff", "Test/" + strings.Repeat("ä", 300),
		"Test/x.golden/y", "Test/\\", "Test/-", "Test/" + strings.Repeat("a/", 200) + "b",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, test string) {
		name, err := golden.FileName(test)
		if err != nil {
			return
		}
		if err := module.CheckFilePath(name); err != nil {
			t.Errorf("FileName(%q) = %q: %v", test, name, err)
		}
	})
}
