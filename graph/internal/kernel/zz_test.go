package kernel
import ("testing";"math/rand/v2";"fmt")
func BenchmarkSR(b *testing.B){
 rng := rand.New(rand.NewPCG(1, 1))
 for _,s:=range [][2]int{{256,768},{256,3072},{2048,384},{2048,1536},{256,2304}}{
 n,d:=s[0],s[1]
 x:=random[float32](rng,n*d); w:=make([]float32,d); p:=NewPool(1); mean:=make([]float32,n); inv:=ones[float32](n); y:=make([]float32,n*d)
 b.Run(fmt.Sprint("rows",s),func(b *testing.B){ for b.Loop(){ SumRows(p,w,x) } ; b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(n*d),"ns/entry") })
 b.Run(fmt.Sprint("ln",s),func(b *testing.B){ for b.Loop(){ LayerNorm(p,y,x,w,w,mean,inv,1e-5) } ; b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(n*d),"ns/entry") })
 b.Run(fmt.Sprint("lnb",s),func(b *testing.B){ for b.Loop(){ LayerNormBackward(p,y,w,w,x,w,x,mean,inv) } ; b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(n*d),"ns/entry") })
 }
 for _,v:=range []int{65,50257}{ n:=1<<20/v; x:=random[float32](rng,n*v); y:=make([]float32,n*v); lse:=make([]float32,n); tg:=make([]int,n); p:=NewPool(1)
 b.Run(fmt.Sprint("ce",v),func(b *testing.B){ for b.Loop(){ CrossEntropy(p,x,lse,tg,-1) } ; b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(n*v),"ns/entry") })
 b.Run(fmt.Sprint("ceb",v),func(b *testing.B){ for b.Loop(){ CrossEntropyBackward(p,y,x,lse,tg,-1,1) } ; b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(n*v),"ns/entry") })
 }
}
