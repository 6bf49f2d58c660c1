package debuginfo
import ("testing";"os";"time")
func TestScratchSame(t *testing.T){
 a,b:=os.Getenv("A"),os.Getenv("B"); if a==""{t.Skip()}
 x,err:=openELF(a); if err!=nil{t.Fatal(err)}
 y,err:=openELF(b); if err!=nil{t.Fatal(err)}
 t0:=time.Now()
 t.Log(sameProgram(x,y), time.Since(t0))
}
