package heaptype

import "testing"

func TestCutTypeArgs(t *testing.T) {
	for args, want := range map[string][2]string{
		"int,string":                                    {"int", "string"},
		"map[string]int,func(int, bool) error":          {"map[string]int", "func(int, bool) error"},
		"struct { a int; b x.P[int,int] },interface {}": {"struct { a int; b x.P[int,int] }", "interface {}"},
	} {
		k, v, ok := cutTypeArgs(args)
		if !ok || k != want[0] || v != want[1] {
			t.Errorf("%s: %q %q %v", args, k, v, ok)
		}
	}
	if _, _, ok := cutTypeArgs("onlyone[a,b]"); ok {
		t.Error("no comma outside of brackets, but cut")
	}
}
