package procfs

import "testing"

func TestParse(t *testing.T) {
	a, ok := Parse([]byte("7f1200000000-7f1200021000 rw-p 00001000 fe:01 123      /a b (deleted)"))
	if !ok || a.Start != 0x7f1200000000 || a.Size() != 0x21000 || string(a.Mode) != "rw-p" || string(a.Name) != "/a b (deleted)" {
		t.Errorf("%+v %v", a, ok)
	}
	for _, line := range []string{"", "-", "1-2", "x-y rw-p 0 0 0", "2-1 rw-p 0 0 0", "1 2-3 rw-p"} {
		if a, ok := Parse([]byte(line)); ok {
			t.Errorf("%q is %+v", line, a)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("7f1200000000-7f1200021000 rw-p 00000000 00:00 0"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if a, ok := Parse(line); ok && a.End < a.Start {
			t.Error(a)
		}
	})
}
