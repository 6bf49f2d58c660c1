package debuginfo
import ("testing";"os";"time";"fmt")
func TestScratch(t *testing.T){
 p:=os.Getenv("BIN"); if p==""{t.Skip()}
 for range 3 {t0:=time.Now(); x,err:=Build(p); if err!=nil{t.Fatal(err)}
 fmt.Println(time.Since(t0), x.NumTypes(), len(x.Globals()), x.count(tableFuncs), x.GoVersion(), x.BuildID(), x.Warnings())
 for i:=range x.tables { fmt.Print(i,":",len(x.tables[i])," ")}; fmt.Println()
 if os.Getenv("V")==""{continue}
 for i:=range x.count(tableFuncs){ f:=x.fn(i); if f.Package!=os.Getenv("V"){continue}; fmt.Printf("%+v\n",f); for _,l:=range x.Locals(f.Entry){fmt.Printf("   %+v %s\n",l,x.Type(l.Type).Name)}; for _,l:=range x.Captures(f.Entry){fmt.Printf("   %+v %s\n",l,x.Type(l.Type).Name)}}
 for _,g:=range x.Globals(){ if g.Package==os.Getenv("V"){fmt.Printf("%+v %v\n",g,x.Type(g.Type))}}
 n:=0; for i:=range x.NumTypes(){ if x.Type(TypeID(i+1)).RuntimeAddr!=0{n++}}; fmt.Println("described",n)
 break
 }
}
