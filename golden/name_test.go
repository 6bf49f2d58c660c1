package golden

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"
)

func TestFileName(t *testing.T) {
	long := strings.Repeat("abcdefghij", 30)
	tests := []struct{ test, want string }{
		{"TestLogout", "TestLogout.golden"},
		{"TestMain", "TestMain.golden"},
		{"TestX/sub/case #01", "TestX/sub/case_#01.golden"},
		{"TestX/sub/case_#01", "TestX/sub/case_#01.golden"}, // what t.Name makes of it
		{`TestLogout/a b: "c"`, "TestLogout/a_b%3A_%22c%22.golden"},
		{"TestX/100%", "TestX/100%25.golden"},
		{"TestX/v1.2", "TestX/v1.2.golden"},
		{"TestX/..", "TestX/%2E%2E.golden"},
		{"TestX/../../etc/passwd", "TestX/%2E%2E/%2E%2E/etc/passwd.golden"},
		{"TestX/.", "TestX/%2E.golden"},
		{"TestX/.hidden", "TestX/%2Ehidden.golden"},
		{"TestX/dot.", "TestX/dot%2E.golden"},
		{"TestX//y", "TestX/%/y.golden"},
		{"/abs", "%/abs.golden"},
		{`C:\x`, "C%3A%5Cx.golden"},
		{"TestX/con", "TestX/%63on.golden"},
		{"TestX/NUL.txt", "TestX/%4EUL.txt.golden"},
		{"TestX/com1/x", "TestX/%63om1/x.golden"},
		{"TestX/com", "TestX/com.golden"},
		{"TestX/com10", "TestX/com10.golden"},
		{"TestX/console", "TestX/console.golden"},
		{"TestX/a.golden", "TestX/a.golden.golden"},
		{"TestX/a.golden/b", "TestX/a%2Egolden/b.golden"},
		{"TestX/ünï", "TestX/%C3%BCn%C3%AF.golden"},
		{"TestX/\xff", "TestX/%FF.golden"},
		{"TestX/\x00", "TestX/%00.golden"},
		{"TestX/a~2", "TestX/a%7E2.golden"},
		{"TestX/a*?<>|'`;", "TestX/a%2A%3F%3C%3E%7C%27%60%3B.golden"},
		{"TestX/" + long, "TestX/" + long[:76] + "~8993e7a693127bf9.golden"},
		{"T/" + strings.Repeat("é", 30), "T/" + strings.Repeat("%C3%A9", 12) + "%C3~b392a3932311b5ed.golden"},
		{"TestX/" + strings.Repeat("abcdefghi/", 30) + "z", "TestX/z~bdb98113c5d29b16.golden"},
	}
	for _, tt := range tests {
		got, err := FileName(tt.test)
		if err != nil {
			t.Errorf("FileName(%q): %v", tt.test, err)
			continue
		}
		if got != tt.want {
			t.Errorf("FileName(%q)\n got %s\nwant %s", tt.test, got, tt.want)
		}
		if err := checkFileName(tt.test); err != nil {
			t.Error(err)
		}
	}
	if name, err := FileName(""); err == nil {
		t.Errorf("FileName of nothing is %q", name)
	}
}

// checkFileName checks the file name of any test; internal/tests checks that a module's zip file
// may have it.
func checkFileName(test string) error {
	name, err := FileName(test)
	if err != nil {
		return err
	}
	if !fs.ValidPath(name) || path.Ext(name) != Extension || len(name) > maxNameTotal {
		return fmt.Errorf("FileName(%q) = %q is not a valid path of a golden file", test, name)
	}
	folders := strings.Split(path.Dir(name), "/")
	for _, folder := range folders {
		if strings.HasSuffix(strings.ToLower(folder), Extension) {
			return fmt.Errorf("FileName(%q) = %q has a folder that could be another test's file", test, name)
		}
	}
	for _, element := range strings.Split(name, "/") {
		if len(element) > maxNameElement {
			return fmt.Errorf("FileName(%q) = %q has an element of %d bytes", test, name, len(element))
		}
	}
	if last := path.Base(strings.TrimSuffix(name, Extension)); strings.Contains(last, "~") {
		stem, hash, _ := strings.Cut(last, "~")
		if _, ok := unescapeElement(stem); !ok || len(hash) != hashLen-1 {
			return fmt.Errorf("FileName(%q) = %q is cut within an escape", test, name)
		}
	}
	back, ok := TestName(name)
	switch {
	case strings.Contains(name, "~") && ok:
		return fmt.Errorf("TestName(%q) = %q, but the name was cut", name, back)
	case !strings.Contains(name, "~") && (!ok || back != underscoreSpace(test)):
		return fmt.Errorf("TestName(%q) = %q, %t, want %q", name, back, ok, test)
	}
	return nil
}

// checkNamesDiffer checks that two tests have two files, on every file system.
func checkNamesDiffer(a, b string) error {
	x, _ := FileName(a)
	y, _ := FileName(b)
	same := strings.EqualFold(underscoreSpace(a), underscoreSpace(b))
	if !same && strings.EqualFold(x, y) {
		return fmt.Errorf("%q and %q have the files %q and %q", a, b, x, y)
	}
	if x == y && underscoreSpace(a) != underscoreSpace(b) {
		return fmt.Errorf("%q and %q have the same file %q", a, b, x)
	}
	return nil
}

func TestFileNamesDiffer(t *testing.T) {
	long := strings.Repeat("abcdefghij", 30)
	deep := strings.Repeat("abcdefghi/", 30)
	names := []string{
		"TestX", "TestX/", "/TestX", "TestX/a", "TestX/a/", "TestX//a", "TestX/%", "TestX/%61", "TestX/a.golden",
		"TestX/a.golden/b", "TestX/a%2Egolden/b", "TestX/a~2", "TestX/a%7E2", "TestX/con", "TestX/%63on",
		"TestX/é", "TestX/e\u0301", "TestX/É", "TestX/\u212a", "TestX/k", "TestX/ß", "TestX/ss", "TestX/\xff", "TestX/\ufffd",
		"TestX/" + long, "TestX/" + long + "x", "TestX/x" + long, "TestX/" + long + "/x", "TestX/" + long[:76],
		"TestX/" + deep + "z", "TestX/x" + deep + "z", "TestX/" + deep + "zz", "TestY/" + deep + "z",
	}
	for i := range 6 { // cut at every place of an escape
		names = append(names, "TestX/"+strings.Repeat("x", i)+strings.Repeat("é", 30))
		names = append(names, "TestX/"+deep+strings.Repeat("x", i)+strings.Repeat("é", 30))
	}
	for i, a := range names {
		if err := checkFileName(a); err != nil {
			t.Error(err)
		}
		for _, b := range names[:i] {
			if err := checkNamesDiffer(a, b); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestTestNameRefuses(t *testing.T) {
	for _, name := range []string{
		"", "TestX", "TestX.txt", "TestX/a%.golden", "TestX/a%4.golden", "TestX/a%zz.golden", "TestX/%61.golden",
		"TestX/a~2.golden", "TestX/%c3%a9.golden", "TestX/a:b.golden", "TestX/a b.golden", ".golden",
	} {
		if test, ok := TestName(name); ok {
			t.Errorf("TestName(%q) = %q", name, test)
		}
	}
}
