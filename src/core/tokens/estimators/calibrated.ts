import type { Estimator } from './estimator-schema.ts'
import {
  CHAT_TOKENS_PER_CALL,
  CHAT_TOKENS_PER_CONVERSATION,
  CHAT_TOKENS_PER_MESSAGE,
  IMAGE_TOKEN_ESTIMATE,
  providerFactor,
} from './neurolink.ts'

/*
 * The fitted table: one line per class of the previous unit, one sign per class of the unit. The signs are the levels of `LEVELS`, in
 * order.
 */

/** The signs of costs, lowest first. A sign's cost is its index squared, scaled so that the last is four tokens. */
const LEVELS = '!"#$%&()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_abcdefghijklmnopqrstuvwxyz{|}~'

/** The cost of a unit after another, by their classes; the first line is for the beginning of a text. */
const PAIR_COSTS: readonly string[] = [
  'NDNMEM=MNNLMNOONNOONNONNMNNLLKLKFMLMKLLJKKLLKLKLLJMMMJJJKIKLNLINLNNLNONNMOKMONONNKNNNOMMLMMMGONRNJK>NNMMNNN!NMNNGNIPcON!O!NeOO',
  '<#-0/,&(()!!-.+!OPPPPQQQQQ!1,&#!!!!!!!!!!!!/%!!!#0!!!!#!!!5,+6--!!!!&(!!!!4.!!&!!!!!!!-!!!.*!#.1K!,>!+#(!!1!!4%!!?!:@<4!B!,LOE',
  'O.5CC@;<<DJJ3/02BGABABBBBB=AA!HJ;GDDI>@@@DC@>>CDAB?I<?@@BCB!8D==DKELMJJAHJB>KHHKJ@MNME;CD;=:C:K2N<<><9>@=>A!?A@B<K<@REE!D!@OOJ',
  'NG/I5!5IF-D@,0C0OQNOOONNMN+82B-MGOPOOOOMOOPMNOOMNHOOPONMMLODI1FCHOPOPOPPPONPPOOOONQOPOPOOMO8DE@+NFM>KLIBLKK!MLDH<MI@bOM!O!NdOI',
  'O4G!;6;D;;JAILJEKMMNNNNMMM@:F:EG>IHMBIKG@KC@JJC?DBKLJ?@@EGBAMM=KEJKM!<H<A8F?LKLKK:MMICDKM;98KAL5NG<>><>@=>A!?A@B<MI@RNE!J!COOJ',
  'NKKA;I>L5LHJEG6CLQQNMLKJHH<CD:DMPIKPQLLBMNMGNNKBNINMKINHDCP>HGI3:NOPMNPINPJCOOMMPBN?PNLM?FI!<A>8M<<>><>@=>A!?A@B<LI@REE!J!COOJ',
  'M:=:E3:ACHMI8:6KQPOPMMLKIJJ:J:JI;K<JGIOIPKC@GMFJQIENIIKJMMNKIG?MDKLMNDHJJMMCOJAJZGIKCREB>CO;C:>!MG<>>6>@=>A!?A@B<MI@REE!J!@OOL',
  'PAJ8:?+LFF:ABGLH@POBABBBBB<J;DH:;HGHD?K@@BC@EH>EDB<K?C@@BCB2ID=FAJ:IB>@KFH=<MJL?DFHEG(I6<;=:=:F/NG<>><>@=>A!?@@B<LI@REG!D!COOL',
  'OBC=:+52@&58(/-8NOMJKIHKIL5!5;@A)MNNLMNMMNLJMMLENKFONMKKLKM=5(6)MFNOLDNNLFMKJLNIOMK>?DINNGI5>C=)NL4>HOFKHKO!NPDH<OIJROK!N!OOOM',
  'O!!J0!!#&!)>=067OONONNNNNN@@0,IC.O?NHBFLKL<MILH<ERMJBLMNGJ6!/E93%=B?C;5?LD@CD=;B@<==?A>GEO/#A:>!N<M>PZLORSS!OOOO<@F@RON!Q!OOOJ',
  'OJ2:990C:!;K!/!4@HDBABBBBB&!F=?@;>L=?>B@@=C@E>>MGB=GG?@@BCB?A?=K>:7<9=C0:==@B>1;B=+9-4;6<-=4GA>/NMA>><C@9BC!@G?D<LG@RAM!N!FOO@',
  'N?NKBC;I@7!L!77#INKILIGBBIFKECFJMMMMMMMFMLJJLMMMMGLMMMMMMEKJEMFHMLLLKKIJILBJLKLKLILNKK=KLFEMGCG0NG>><<>@=>A!?AHC<MI@RNG!L!HOOL',
  'NC?<DI;::>I+7MD:MPOONOOOON@=F);J=KFHGOONONOONOONNONOONNOOOOD>6=L?;,CNNMNLD8:9>>N?N@A@NO=86N:GKM#MH>>BF>BB>A!?A@@<NI@RNG!M!COOJ',
  'OC&2;<05DHFI?+BGKNNNNNNNNN=:KHDN9BAFC?EDDKGG8G8;BB=<<>ED@@D2CKCH4-4D3G55-126<3,CA)?B(8-@.-9=;IJ0MC<>?@>K=GI!JPEB<BI@RNF!K!BOOJ',
  'ND!H<L;E3BDO6.NHNOOOOOOOOOJ>N7.NBJ=?@KJ@DGB@DBHKH@HHF@GAI6:LBPJAJ;577?=AD@<H>8G>>MA<>AJAEIB9KNG.NLI>KIDONLS!OHK!<LI@ROE!M!LOOM',
  'MF;503(?B8EE-9#0OOOOOOOOOO=C*=NH;/44)<.2!4:<636&5D4*&!=3E=&I.E=,B711349/!;-<-<612-84<:651+?17LC!NFF>G?>OGKJ!C=5J<B<@RNE!K!BOOL',
  'NIG>0-9>DH24BG,!ONMNNMOQOOLL:I*12DBCJCB>9D><?;J<K22?EB;?68;>LJF6LEA;HK9JI73AA0>>DED8@F4D3;F2@JB!MKG>KMCIINL!BJJK<OI@RNI!R!MOOL',
  'NDQH8MHOKOMOOOOM/5-524367/MMMJKK=POOOOONOOOONOONOONONOOOONOKNN=MMOOOOOOONNNNNPNNNMNPNNNNQMM:FMMORKC>>:>@B:A!>E@B<PI@ROI!M!MOON',
  'PAPFONDOKOJOONOM-.-2/21121MOMLNN=OOOOOOOONOOOONOOOOOOOOONOOJONENMOONOOONNNONNPMMNNMNNNNMNMN:JLNRRJ<>>H>@=<A!?D@?<OI@ROL!O!MOON',
  'ODQCOM0PNOKOOOOL(4213?4335MNNFPNFOOONOONNOOONONNOONONNOOOOOLOMKOMOOOONONNONMNPNMONNPONNNONN:JLNORK<>>A>@=>A!@A@@<NI@ROL!O!LOOM',
  'ODP:OLHOKOIPOOOO3522762344LLN:ON@OOOOOOOONOONONNOONONNNNOOMFOL=NMONOONNNMNNOPPNNNNNNMNOMNNN:JLLORK>>D<>@8>A!>A@B<MI@RNI!N!IOOM',
  'O:PFKL<OOMLOOOON2555445556NNLHMMDOOOOOONOOOONOONOPNOONNOOOOFOL=NMNOONNNNNMONNPNMNONNNNNMNMN:ILMORID>><>@=>A!?B@B<NL@ROF!N!HOON',
  'O:P:BM;NJOIOONOM.445434546MJLCGJ=OOOOOONONOOOONOOOONONOONNOGML=OHONNONNMMNNNNOMMNMNPNONNNMN:ELIORJ>>B6>@=>A!?A@A<ML@RNE!L!EOOL',
  'PCO:<L:OLNKOONON3666.84555NNM:EIDOOOOOONONOONONOOONNNNOONOODNL=MHNONNONNMNOMMPMMMNNONMNNNMO:ILIORH<>><>@@>A!>?@B<NI@RNF!L!IOOM',
  'P:OC9L;NKQFOONOM5354764656LMK:FKHOOOOOOOOOOONNONNONNOOOOONOANM=NINNOOONMNNNNMONNNMNNMOMMNMN:ALGORF<>><>@=:A!@A@B<MI@RNE!D!BOOJ',
  'P:O:6KCOMMGPONOK4466653544LMJCCK?NOOOOONONOONNONOONONOOOOOOCNL=NINNONONNNMONNONNNNMNMNNMPNN:EL>ORE<>><>@=>A!>C@B<MI@ROF!M!JOOM',
  'OCO:6J;NHNEOOOOM4465566553LFIA;JGOOOOOOOONOONNNOOONOOOOONOOGNL=LINNNNOONNNNNNNNMNOMNMMMMMNO:FK>ORJ<>>69@8>A!>A@B<LI@REE!J!BOOL',
  'OM2A066>C?(6K>J!MLLMLLHHHI!E8(GK8LMMLJNIMMJFIMABMGKNJKKJHFJ!>?==FNMMCKFJDKGHLLHLLIKHIFHIG;D)ILJ)MLF><G>N=BI!?>@I<LIIRNE!M!FOOL',
  'N:H:F?%H;:@I<E@<@@APABBBBB<:1E;:=H?HIJB@JFC@>I>>CB=DG?@@BCBA>;=;J:?=GLDAG>=9.:.GB@B<?:;C:7=7I:G!NI<>?89E=:?!BBAB<OI@ROE!L!COOL',
  'O)NC?</@E;DAM@N)LMMGDKBBEBK:+65=CEIIMKDAGBCGK?MJKB.L-CEK>HO4N;D:CIFPLOONFHONMLNMA<MH;III<DMBC:J.MFK>NKH@=DA!KBOM<NI@RNM!Q!QOOJ',
  'OA&:00+3=JFMODH5OPNNMMKLMGBB6##E9MFEKKFLKNKMJ@?LOJMM>LMF<CI50KC<6JHBDFJC02DCHFAKK<FCABDF059,@A6DNLI><O>@FB?!CE?I<HI@RNJ!P!LOOJ',
  'ODC=>B024;FK#9D9JNMMJKJFBBC>);,I=FMINIMMJIKEJLLMNBMM9JMLMJID@E=L4LLNMKMLILB?KLKKOEMMNFGE9C92>>F!NN<>:<>G@8?!?A?B<NI@ROI!M!OeOO',
  'O92:H?CDA,AL.A7D@JABABBBBB!<GI;&B>?=@>@@@=C@>>>=MIH<D?@EBCJ;=MF;IDKGB8F:;==<A@:>BG8B&J+;D;=<5CF!ME<>>7>@L>A!?A@B<FI@REE!D!COOJ',
  'OHNC9E;KCHAAFILFHNJIIGBBHB<DMFG:=IEDCHIJ@JC@>>>>HB=G@CDDBCB>ODJJDNONONL;CNM;NLNMO@ONPHOKE+L@?:>7LF<>>9>@=>A!?A@B<LI@REE!L!COOJ',
  'NCK:<B9MMOCOOONOOOOOOOOOOONCFMJH;C!*!C2)>2@>,(,G.B!!+<89!&BJGM=OED7,&E41?@A?.3*F,N+,!586>A<:FIFPNFL><@>@=>?!>A@B<NI@RNE!M!COON',
  'N:L:<G;MNNIPOMNPOOOOOPOOOOUHLLLJ;<6764?@C28D0:CBDE68@7BB?4DDIK=NE.FCB,M;D1?C-@@3BN5DD&N@@!N4=AFOM<M>><>@=>?!?A@BFNI@ROE!K!COOM',
  'O:NN;G9MLO@POONOOOOOOOOOOONENBM:;9970>:?2>J&!7H..B=5!G<FK3HEKM=MA-CDD<@B%CNM)?G!@N4C82DMA@L:BAFPMHC>>7>@8>A!>@@BLOI@RNE!K!FOOM',
  'NLO:6?=NMNIOMMOPOOPOOOOOOOMJJLMJ;14=2+2GH?B;=6>:7F5CE>D>?=DFNLFMI12DF*ANC0DM=EC1EM-A=BLCF3A4HC>ONID>><>@=>A!?@@BINI@RNJ!L!MOOM',
  'NBOF<?;MMNCONONOOOOOOOOOOOPLMNJI;45/,946GLOG56!<EC(/%I;;!6AFMP=MH.BC8G4BA@>A4+*MD&)2CB.N!C@4KKFQNHH>::>@J8A!?A@B<OI@ROI!J!IOOM',
  'OEL::M;LMOBOOPNNOOOOOOOOOOOEM;JHC07@4<.<H9O<9AB%?O-<1;D?43PIML=N:3A@A7MAM!NC(E.)EO)C@4M=<DN<;:FNM<J>><>@=>A!@C@B<NI@REE!D!IOOL',
  'P:K:<B;LENCONNOOOPPONNOOONNI;II:G?9@H(FE7BOG9F5@DO:?8:DD@<OCHL=OHA>FP,MMB9BN6NH9EM5@2>N?N:N;FIFNN<I>><>@=>@!@B@BJO5@ROG!M!GOOM',
  'PBL:<?;N;NCOOLMONPOONOOOOOPCDHDH;>>>9&AB>AGL9FE75?8=!DEGADC>IK=OG.BM?%NAN6NMBEM-BO?A!H?@@9849HFNNHL>><>@=>A!?A@BMMI@RNE!K!DOOM',
  'MAK:<?;@LNIPNNNOOOOONOONNONMLFHI;9*+!451?6D8/!!!.C0-(G2@-O,DJN=NCBB9!G!9FEA<;2!B;A>-!N@CAB;:EBFON<<>><>@=>?!BC@BJNI@ROE!M!KOOM',
  'P:@:<?;IIJ@OJKNOOOOOONONOOF:;:;G;G@BB4?BOH7<CCD;8OD!HBC=NOO>;;=K:9NON?NNA<NMCN<7LNM.O:NNN?N:;:FML<K>><>@=>A!?A@B<MI@RNE!D!COOL',
  'PAI:<?;LJMHPONNOMOOOOOOONOMCA>MG;E7LL<A5AHO<AF=IEOGK4K<DN@OAJM=N:DANC,MC(.OMB@8FNM>>AEDEMAM:>H>ONFP>><>@=:A!?A@BGM=@ROE!D!COOM',
  'O:M:8?;ONNIONMNONOOOOOOOONNMMMMGD8J<;-=BF7OE62C2?OE;A<=IF9PCML=MK4AGE)BEN!@NDC@,ENND>GCNNBO:GGFOPIL>><>@@>A!?B@@KOI@RNK!N!LOOM',
  'P:M:<@;LGNGONONPOOOONOOOONNKGHHGA5.<;0L<F;?A+?H568@08CA4;9OHJKINF*B@C#EBA8ACABD):C=>D<CCA!E:D:FNNFI>><>@=>?!@A@BMN8@RNE!M!COOM',
  'OAN:<C;MMOCOOOOPONOONPOONOOKJGH:@9D;6/:+=GH<DD@5EOA<*49E@/ECMP=MH/ADB2N79C?DD@N!EN@DB3GNB@=DIHFPOFH><<>@=>A!?A@B1NI@RNG!L!HOOM',
  'O:M:<?;MNO@ONPNOOOOONOONONOGDDJ:;E9?4H,4@FF+2-!4!O!233404DPHMN=LCL%BCN!C?FF=>F*G#N!=<*66GCE:?BFPMFK>><>@=>A!?@@BDMI@REF!J!COOL',
  'N:KH<M;KKO@OONNMOOOOOONOOOPJMKKH;9F9;.E=7/BF47?3?<,:44?FD5PDLJ=M:/D??/>#!<O>!DC.ON#B069@>0N8EA>ONGO>><>@=>A!??@B<NI@ROE!K!FOOL',
  'O:DH8?;LFP;OLKNONOOONOOONNLB;M;:;IEDJGNNOCOO!EDNF4>G;4DSNOO>;;=N:@NANMO<NBON=MNDONCC;!MNMMN:::>MM<F>><>@=>A!?A@B<LI@REE!D!COOL',
  'OCM:<?;LMODOPNNPOPPPOOONOONGJMLGC;E39!D8B6C<.9.*<G-66:>B?/PHNO=NK5FAE!GDAANNFE@:B@MDA4D@<CO:JHFONFK>><>@=>A!>A@BBNI@RNE!J!BOOM',
  'NANM<?;MMPEPPONPOOOPOOONOOOKJLM:CA(67!@42;D7!5<0=!9!&>B<F<CKMM=NI;I%F!FL*+D?5.1!5!AF!/5=M1BABDFNNKH>><>@8>A!?A@BLRI@RNF!L!HOOL',
  'N:Q:MCBOMNKPNOMPNNOOOOOOOOPMIMOGA;IFI49K!@E5;=I4#O!E88>=.=INNN=NL.C>@&<M!6N;EFM!>N!<M@?<=#N=ANFONHMO<<>@8>A!?A@BLOI@ROG!K!HOOL',
  'O:JD<=;I;N;NNONOOOOOOOONNOLDFHJ:;>0@+!?!G!C9!2,O+O!!!:;D3B=GGI=N:B7C>MHBB0N=:8%M%N6!8N@C;?>:>:FNMEL>><>@=>A!?A@BUMI@RNF!J!@OOL',
  'P:I:<@;G;LCOOLMOOOONOOOOONHCJ:K:;9B=;0JCKCOD><J3=O?@DIFCEOOB;K=NH0N>N5NNM0NAC<N;>NCAM?NNMB@FCBFNNFM>><>@=>A!?A@BJLI@REE!M!BOOL',
  'O:K:<?;MHJIONMLNOOOOOONNONHADG;G;3?B;M<I,:ODF=>1BO3D:FF:>@O>;J=N:8NOB1NN!0NNNNN1AN1BABNN:EN:@:FMNFG>><>@=>A!?A@B<MI@REE!D!COOL',
  'OCL:<L;LFM:ONONNNMOONLONONLCM?G:;LJIFHEONIONC8GHHOED5ODO35DCGK=MEHNMC@NMM@NMMBNM=NNB@INNMMO:AKGOM<H>><>@=>A!>@@B=NI@RNI!K!EOOM',
  'MCH:8?;LHP:OPNNOOONOOOOOONMKNGD:;AOBFBODNKOF=F;A-OJ;EKOBB3@>JI=LGANNM8NNOENONBB!MNC>NDMNOMN:>IFNNHJ>><>@J>A!>A@B@MI@REE!M!GOOM',
  'P:M:<==L;N;PONNOOONONNOONOD:GEGG;FOOE<FBFIPOOIA=NOGMHEO?3:5>JN=N:DONB?NN@>BNN@?ONOMMN?DEMNN:;FFMMFK>><>@H>A!?A@B<MI@ROE!D!COOM',
  'QM!?K.0#8FHN==9CPOOOLMLMLL.HPP;GGNMMLMMLILMEKLNOMHLNLLMLJJN;M!?7!MLHLMMGK?ICLFHLJJLKHLKLEKHE>:>5MGF>JP>H=:?!?FHH<II@ROM!P!POOJ',
  'OF/HBNDBHNHNJH:6LMKKABBBBBHHLMMLLAEMC?E@EDCGICJEFG=D@KJIECJJ:LJNMDGMLJCJGI=GI:MDMDLL1NGJM;LMNKP3LI<>>9>@=>B!?A@?<NI@RNE!D!COOJ',
  'OJEH9;;@#5?9!753F@ABABBBBB!40.@>@A?CC>DB@=C@>D>=BB=ED?@@BDB!F.@JM?AI?K>>DL=;;BAAH=3=C@;;8;=64=>0NJ?>>?>@==A!>@AB<NI@ROG!L!IOOL',
  'OIKMG=9L=KFAKGMJQQQPPPOOOMH:;E;:;JEK?@@H@DCF>K?GKB>K@CKEBCL/8;CL:GLI27=G2@><1;>6E=:G:<;;<1;3FFF7N<<>><>@=>A!?A@B<LI@RNE!D!COOJ',
  'O:D:-;;M2?4J-IFCNOPNMMMLKI75?9GG;-2#!!,6+2D1!0!(->/!!-!0!<KKJF@.I87/3@:8!?547488=;?6)7395DK6>JF.LIK>MQJML<C!ELJJ<MI@REE!J!JOOJ',
  'MJHJ,ED0FBLL!N.GMNLLKIEEBD5:?IMLKMLNKMKKNMLK=LLLLMLMMNGHBIM=M8MB!MMMNMMLMMLHLMMMMLMLMNLMFFM2EIL!N<I>>F>@KIA!IA@B<MI@^EE!J!COOJ',
  'QKO:KG:OOQLOPOPNOOOOOONOOOPOMNOOLOOOOOOOOOOONOOOPOONOOOOOOONPN=OLC!!!?&!<,60(!#<!4!!!/0)!!<CKIFTOJF>>6>@=>A!?A@C<PI@RNF!D!EOOM',
  'O:OF9;>PNNIONOOOOOOOOOOOOOOMJKNLJOOONNOOONOONOONNONOOPOOOOOLPL=PL0;?@(BLF7)K!HI-JO-<>.FHM!K8CKFONJD>><>@=>A!?A@B!N8@RNF!D!EOOL',
  'MKPHILGOONKOPOOMONOOOOOOONNMNNLMKOOONOOOOOPONOOOOONOPOOONNOKOMENM09.7!>A#1M!!;C!:E&3!2>@F)@IJJFOOL?>><>@=>A!@A@B!QI@ROF!L!FOOM',
  'NMOJJNFMONMONOOPNMMNNNOMNNONOPONMNOOOONOOOOONNOOONNOOOPOOOONONFOM44@&+93;5866DM0=<4(;5FF70EBMNFOPM;>>;A@=>A!EF@C!RI@ROK!M!NOON',
  'OOOMKJLMOOMONPNNOOOOOOOOOOONOQPOONNNNOMNNOOPNNONOOMNNONOOOONOL=OM+9+!2+4>>BA0(+93!#!+5+!!!AENLFQNLJO>8>@=>A!>A@B<SH@ROI!Q!MOON',
  'NFOJ;J;ONOHOOOOPNOOOOOOONOPMNOMKBOOOONNOOOOONONOOONONNOOOOPJPN=OM0?>>.!FA,DH.C3!4F!;!*B@4-F<JKFNNLE>><>@=>@!AB@B<QI@RNE!D!HOOM',
  'MIOLJGJNONMONPNNOPPNOOOOOOONNOONKONNNOPNOOOONNONOOONNMOOOOONONCMM:>DL#@9!3II6;.5MN-215?FE20>LNIOPKI>><>@=>A!B@@BDOI@ROE!J!HOOM',
  'MHPH8F@NOOGONNNOOOPPONOOOOONMONNHOOOONONOOOOOOOPOOONOOOOOOOLON=PN!ELP!HGD!FJ@9>(EC0;).JIH:B4KNFONK,>><>@=>A!@@@B!OI@ROF!J!IOOM',
  'TIPL>@4NNSJOTOQMOPOOOOOOOOUOIGPMLNOOONONOOOOOONOOPOONNNONOOKNP=MK4&#!0##>QF8*)!!)!)!!U*C*2%CJMFUNK:>>6>@=>A!?DGB!OI@RNF!M!DOOM',
  'T:H:BB;LKNCOOKNONOOOOOONNOMFF:;G;OOONOONNOOONNONOONONOONOOOCJI=NF?@I</ICE?9DDGG8E>K*D4N=B8O:DMFOM<K>><>@=>A!?A@B<DI@RNE!D!COOJ',
  'OMOG>?@NPNLONPNPOOOOOOONOONNNONNINOPOOOOPOOOOONNNOOOMOOOOOOMON=NM4GJ?.K1!;ASAD2GANG9@@J8ECIAFJFQPLI>><>@=:A!>B@B!NI@RNG!J!FOOL',
  'OIPN6F>QOOMONPNOOOPONOOOOOOOMOOMMONNOOOOONOONOONOONNNOOOOOOMOJ=NL27F!(-CK4HF+HJ02K:000:4A!O4MHGROLE>><>@B<A!>A@N!PI@ROJ!L!FOON',
  'OHPK=?ANONKPNPNNOPOPOOPNNOONMORNMOOONOPNOOOONOOOOOOONOOONOOMON=PM.+I4*F6=9NF1(/!(EK!B4LNA0L<FLFNNJDO><>@=>A!<@@B!NI@PNE!M!JOOM',
  'PNONLJKBOONOOPOPOPOOOOOOOOONOOPNONNKONONOOOOONNOOONNNOOOOOONONCOM5K)!-2!!:H21E5.7NM&%-5DA0G:LPFNOMC>><>@=>A!?A@B&QIIROE!D!JOOM',
  'NKOI9DDNOQKPOPNNNOOONONOONONNNNMGOONOOONONOONOOOOOONOOONNNPKON=OK9(-!=!,J26**!!(#<!*%!%!?(6>GIFQNMA>:<>@=>A!>A@G.OI@ROE!D!JOOM',
  'NIP:H=ENONKPNPOOOPOOONOOOONMNOOLGQWONOOONOOOOOOOOOOPOOOONOOMONDOM,>93*E6!6FJ!#D+)E(&!1@H4/LELL>OOML>>:>@=>A!>>@F<PI@ROF!J!HOOM',
  'PKL:=?;NNN;OOLNOOOOOOONNONNADCDK;OOOONONONOOOOONOONONOOOOOOBMK=ME974AANN==NN);>?C,:?<!NEC@N:>:>LNH>>><>@=>A!?A@B<MI@REE!D!BOOL',
  'NPPMICENNOMPNNOPOPOPOOOOOOONOPOMNONOPOOMONOONOOOPONNOOOONNPNPO=OL3<!0!4-O2R39/(&B;*##21<?!IBMNFOPMBO><>@@:A!@@@C2QI@ROH!M!LOOM',
  'NNPNIQKONOMONNNMOPOOOOOOONNNPOPNONPNOOOOOOPOOOOOOONNNOOPONOOPM=OM0?6?(:5!2O8?7C/1;#)(+B8>2GGNNKOPNFO?G>@BAA!LKAG!T0@RPL!N!NOOO',
  'NNPMLKGJONMQMPMOOOOOOOONNOONOPONMNMMONNPNOOONMNNNONNMOONONOONNKON3L<9-AE!/OA??J,-N)-53N2+-HONOFPNKG>>6>@E>A!B@@O!RFKaOH!M!MOON',
  'PIN:<F@@INMOPNPPQOOOOOOONOQKHJKKHOONOOOOOOPNNOONNPNNNOONNOOINN=PB0,!!!!%@.CA(!&I-@!!(MC?!!;:KKFRNLC>>;>@=>A!?A@B8OI@ROH!K!MOON',
  'TCO:BB;MNOCPPNPOONNOQPPOOOOIKMNJHOOOQOONONOONNNNNONNOOOOOOOLLM=NK2B<C!F1=2CC:9J2CB:CCHC<@>@:HCFPNNA><8>@=>D!?A@B!MI@RNE!D!BOOM',
  'NFNM?C;NONMOMONNNOOOONOOONNMJNGL@OOONNONOOOOOONNOOONOOOONOOMML=OK/CG=,F<!)BE>7#!@N,!:AC&@9K:HEFONHJ>><>@=>A!>@@B<M0@RNF!D!HOOM',
  'NBO:GP;ONNJPNPPORPPOOOPONPOMMNNK=OOOOOONOOOONOONNONOMOOOONOKON=NM&I2B7BNK5NND9EE5MG@!BMN20FIJNFMOIE><<>@=:B!BD@C>OI@ROE!K!HOOL',
  'MMPMDGILNNMPMPNQNNOQNOONOOOMNONNMOONOOOONOONNOOONOONPOOOOOONON=OM8DGB=LGP<OG9:!!*O<,7FO6EK>4DMFONLG>><>@=>A!?>@B!OS@RNE!K!COOL',
  'PFNGB?7NJP=PNMOOOOOONOOOOONEAADKJOONONNNOOOOOONNNONOONOOONO>NM=MH?IBE3CC:=O>1C>GHLEI<:NB?76:;IFPMLJ>><>@=>A!?A@B<MI@REE!D!COOJ',
  'O=!:83;HK;HMJBHINNKMHGDBGBD:G=;:!JLKOLM@KHLG?EKLFBGMMEG@IIBC3;DO?MMNLMMFINJHLLLLNJLMMMLKD;=6C2>,ME<>><>@=>A!?ACB<MI@ROE!J!BOOJ',
  'NDHLJKCKJL=LLMHLHMMILCBBCJMEJ4F:;FGLGBJCEBCHFELCHBEK<HIJBEBNCIKMFNKLKMLLJLH8LLMHKFMMJLKFF;D<-FI!NFE>>:>@=>A!?A@B<LI@REE!N!COOJ',
  'Q?6:+9;<H)MK<92/@@ABABBBBB004>A=;B?=?>@@@=C@A>F==B=<<?@@BCBJ-B=8#>>5<-<;:J=<:;>:;=:;-<7;4;=0>+G!NH<>>:>@=>A!?A@B<NI@ROE!J!DOOM',
  'QBKG8G;LDI:JFE<CLSRMFLJIGIJL;:EH;>D=?>@@@=C@>BC==B=<<?@DBCB>OG=;?;E?N5<H::=<:;::6=>J::;;<;::C:-GMF<>>7>@=:A!?A@B<MI@RNE!J!BOOJ',
  'PJNNMOGNNMMNLNQ7NMNNMNNNNNNJOMMJLQROQQQQURSVPRRSRPSQOPXOQOTMNPGOMOONPNONONOSNOPQKNOOMNPNLMOOMNN!LMP>ORPOOQQ!PQOQJU0W_OO!P!PeON',
  '5HMQLMJMNLKMGOMKMMLKIIHFEGLMNIKLBDABAEIAFB?HCAFEACE>>LGK=F:PNLJOL7!!.!-(1!B=6!,774!!!7!0.2!LMKK3:KK>ES>@=>A!?A@G<M@@aEM!O!GOOJ',
  'LKCF?N=FHH?J,N+KMMLLBGGEEBEKMGFM?KEIIEEEIEJ@GFE@IG?GFCJFEGBFKH=K:KEHKFGE>DGIHIHGKAILIGGH8<D4;DI.=JE><G>@L>A!?A@S<O;@REE!D!COOJ',
  'SIH:<=;GJQ=ASOPM@KABADEBCBRNC>MK;FHLHMDKFNMLMMJ=KGJKIJJFFLNBMK=O:8D8B;>CCGOG=6/8@@B;<:I92CF:<A>UML@>>9>@=>A!?A@B!MI@REE!D!COOJ',
  'N:;:<?;<;;:A<?<;@@ABABBBBB<:;:;:;>?=?>@@@=C@>>>==B=<<?@@BCB>;;=;:;=;;C<;::=<:8::;=::::;;<;=:;:>E=<<O>I>@=>A!?A@B<DI@REE!D!COOJ',
  'OHI:<;9JIP=AOMOL@@ABABBBBBOIA>O:;>?=?>@A@=C@>>>==B=<<?@@BCB>;L=O:;=;;:<;::=<:;:.;=::::;;<;=:;:>OMJ<>;<>@=>A!?A@B<MI@REE!D!COOJ',
  'PLLF<E3RL_>KJWNMBPOIEBEBCBSLBFMO;>?=?>@@D=C@>>B==B=<<?@@BCBIOP=S:==;;6<;:4=<:;::;=:8::;;<0=:;:MRNK?Q>5>@=>A!?A@B<TI@REE!D!COOJ',
  'O:J:<?;I;M:AOMNI@@ABABBBBBGF;>C:;>F=?>@@@=C@>>>==B=<<?@@BCB>;F=KB;=;;:<;::;<:;::;=:::::;<;=:;:>N=<<>><:@=>A!?A@B<OI@REE!D!COOJ',
  'OEK:<F;M;O:MOONK@JABABGBBENHG:;L;LLKDE@JFGL@>H>CMJ=AKFGLICB>;K=N:<?;;:<;::=<?<::E=::::;;<;=:;:>O=<C>><>==>A!?A@B<NI@REE!D!COOJ',
  'OHN:<F;EHR:LJONL@@ABABBBBBNCE9EN;E?J?>@B@=C@>>>==H=F<?@HBCB>;F=NI;=;;:<;:9=<:;::;=::::;;<;=:;:>O=O<>><>@8>A!?A@B<LI@REE!D!COOJ',
  'JIL:6?;KOT:LXSJPE@ABABBBBBOP;?IL;>?=?>@@E=C@>>>==B=<<?@@BCB>;E=KI;=;;:<4::=<:;::;=::::;;<;=:;:FQ=<<>><>@=:?!?A@B<LI@REE!D!COOJ',
  'QEL:<=;LPS:A_[FM@HABABBBBBOOC=;M;>?=?>@B@=C@>>>==B=<<?@@BCB>;E=K:;=;;:<;::=<:;::;=::5:;;:;=:;:>P=<<>><>@=Y<!?A@B<LI@REE!D!COOJ',
  '<:;:<?;<;;:A<?<;@@ABABBBBB<:;:;:;>?=?>@@@=C@>>>==B=<<?@@BCB>;;=;:;=;;:<;::=<:;::;=::::;;<;=:;:><=<<>><>@=>A!?A@B<DI@REE!D!COOJ',
  'NCM:6=;JIO:ASONG@HABABBBDBNN;<MK;>?=?>@A@=C@>>>==B=<<?@@BCB>;G=KH;=;;:<;::=<:;::;=::::;;<;=7;:>P=<<>><>@=>A!<A@B<DI@REE!D!COOJ',
  'TJJ:<E;NNO:APOQLDIAEABBBBCUMB?DP;>?=?>@D@=I@>>>==B=<<B@@DCB>GH=N@;=;;:5;::=<:;::7=::::;;9;=:;:>Q=<<>><>@=>A!?=@B<CI@REE!D!COOJ',
  'OJE:<C;GGOFAOMNL@@ABABBBBBOLA<OM;>?=?>@@@=C@>>>==B=<<?@@BCBD;J=M:;=;;:<;::=<:;::;=::::;;<;=:;B>O=<<>><>@=>A!?A?B<DI@REE!D!COOJ',
  'GAH:<B;IGO@A!G!K@@DBABBBBB!G;HJI;>?=?>@B@=C@>>>==B=<=?@DBCBA;H=MF;=;;:<;::=<2;::;=5;6:;@<;=:;:>PLR<>>7>@=>A!?A@@<TI@REE!D!COOJ',
  'I:K:<?;<;L:ALJMF@LKBABBBBBMC;:GG?G?L?>@@@LC@>FLELB=<HL@@BDB>NI=NI!=!;:<;:!=<:!!!!=::!!;;7)=:;:>KL<?>><>@=>A!?A@B<LI@REE!D!COOJ',
  'KFEJITJIIJCL>YMOJOGBEDBBBBJFKHNK@LJMDGFHGFJJIHDAKGGMHEGJIFJGNHELCJJJNJLHCKBEJKKGM@JCKLAHA<@?<IK:NP?>>IKJ6<H!?<@=<95@^GN!L!McOC',
  'M:;:<=;<;F:AF?<;ENABADBBBB<:D:;:;>?=?>@@@=CG>D>==B=<<?@@BCB>;G=;:;=F;:<;::=<.A::B=::@A;;<;=:;:>5=<<>><>@=>A!?A@B<LL@XEF!L!CcOL',
  'N:;:<?;E;;:A<?<;@@ABABBBBB<:;:;:;>?=?>@@@=C@>>>==B=<<?@@BCB>G;=;:;=;;:<;::=<:;::;=::::;;<;=:;:>O=<<>><>@=>A!?A@B<DIGRNE!D!COOJ',
  'K:;:<?;<;;:A<?<;@@ABABBBBB<:;:;:;>?=?>@@@=C@>>>==B=<<?@@BCB>G;=;:;=;;:<;::=<:;::;=::::;;<;=:;:><P<<>><>@=>A!?A@B<D0@gEE!D!CjOB',
  'O:HF<P5KBLKJGMHJGLFGABFBBCFCJ>G:;GEICEFIEHIH>KC@JBEHCFIEBHKHJI=KJG;BB<@;;BA>A@>:D=@HA?=:?<=B;II*M<<>><>@=>A!?A@B<EI@RBJ!O!COOB',
  'OKM:<K<EMNAJNIOLHMKHDDBBDBNJEEMM;D?E?@EA@GC@@>B=DH?EAD@DDFB>GM=;A=;;;:<;::=?4;::8=:9:7;8<;=:;:>OL<<>><>@=>A!?A@B<N5@ROB!O!COON',
  '<:;:<?;<;;:A<?<;@@ABABBBBB<:;:;:;>?=?>@@@=C@>>>==B=<<?@@BCB>;;=;:;=;;:<;::=<:;::;=::::;;<;=:;:><=<<>><>@=>A!?A@B<DI@REE!D!COOJ',
  'PBNF<L;LOPEJNLNOKONLJDCBDBOJJHPK;DJJCCFHEIC@HFD@KB<LGJDGBCBJHO=K@7:C:G<6:9=7795:H=2E9>K;4;=:=B>PN<<>><>@=>A!?A@B<N@@RPN!J!COOQ',
  '<:;:<?;<;;:A<?<;@@ABABBBBB<:;:;:;>?=?>@@@=C@>>>==B=<<?@@BCB>;;=;:;=;;:<;::=<:;::;=::::;;<;=:;:><=<<>><>@=>A!?A@B<DI@REE!D!COOJ',
  'OKH:<A;JOOFAOMOM@NNBABBBBBOKDDPL@>?=@>@@@CC@>>>==B=<<?@@BCBH;N=M:;=;;:<;::=<4;::;=::::;;<;=:CB>O=<<>><>@=>A!?A@B<DI@REE!D!DOOJ',
  '<:;:<?;<;;:A<?<;@@ABABBBBB<:;:;:;>?=?>@@@=C@>>>==B=<<?@@BCB>;;=;:;=;;:<;::=<:;::;=::::;;<;=:;:><=<<>><>@=>A!?A@B<DI@REE!D!CO!J',
  'L:C:<?;<;;:A<?<;@NABABBBBB<:F:;:;>?=?>@@@=C@>>>==B=<<E@@BCB>;;=L:;=;;:<;::=<:;::;=::::;;<;=:;:>H=<<>><>@=>A!?A@B<N0@eEE!D!CeOM',
  'N:E:AO;GLI?JEMLFHNJEABBBBBEBK;;:DFHIHEFE@GCIDBEDJGBHFGHFDEJ?;;=;:B@@D3BD.6=:D;@>B=@=7<=<8;=:;:>2M<B>><>@=>A!?A@B<N!JZ9K!J!CbO@',
]

/** The cost of a unit after two others like it, by its class. */
const RUN_COSTS =
  ')-7#8*C889#*8!(*<<;;=<<<<<-,2!11122222222222222222222222222B:B1(<22222222222222222222222222C8C++<222=@2292522<=?26212722222222'

/*
 * The method. Every UTF-16 unit costs the average probability that a token begins there, given the previous unit: a letter after a space
 * nearly one token, common pairs of letters inside a word nearly nothing, rare ones (and so random letters) half a token, digits a third,
 * a Chinese character about two thirds. The method is a table of pairs of classes with one look-up per unit, because it runs at every
 * append. A longer beginning of a text never costs less.
 *
 * The source of the figures. They were fitted to the token counts of o200k on stretches of a thousand units: bounded least squares of
 * relative errors, drawn towards the counted share of token beginnings of each pair, each kind of content with its own weight. Fitted on:
 * translations of free programs in 45 languages, the Python library, declarations and modules of npm packages, C headers, shell, Perl,
 * manuals, package.json files, all of these also as escaped JSON, numbered, as differences and with tabs, this project's own pages and
 * founding documents, and generated JSON, logs, UUIDs, hex, base64, numbers, emoji, boxes, ANSI. Not fitted on: the sample texts of the
 * published table, and the recorded conversations.
 */

/** Units of `calibrated` in a token. */
const UNITS_PER_TOKEN = 16
/** The unit of the scan: 256ths of a token. */
const PER_UNIT = 256 / UNITS_PER_TOKEN
/** The maximum cost of a unit: four tokens. */
const MAX_UNIT_COST = 1_024

/** The starts of the classes beyond ASCII, roughly one per script; each ends where the next begins. */
const CLASS_STARTS = [
  0x80, 0xc0, 0x250, 0x370, 0x400, 0x530, 0x590, 0x600, 0x900, 0x980, 0xb00, 0xb80, 0xc00, 0xe00, 0xe80,
  0x1e00, 0x1f00, 0x2070, 0x2500, 0x25a0, 0x3000, 0x3040, 0x3100, 0x4e00, 0xa000, 0xac00, 0xd800, 0xdc00,
  0xe000,
]
const LINE_END = 96
const CONTROL = 97
const CLASSES = CONTROL + 1 + CLASS_STARTS.length

/**
 * The class of every unit: 0 is the beginning of a text, 1 to 95 are the signs of ASCII in order, followed by line ends, controls and
 * scripts.
 */
const classes = new Uint8Array(65_536).fill(CONTROL, 0, 0x80)
for (let unit = 0x20; unit < 0x7f; unit++) classes[unit] = unit - 0x1f
classes[0x0a] = LINE_END
classes[0x0d] = LINE_END
for (const [index, start] of CLASS_STARTS.entries()) classes.fill(CONTROL + 1 + index, start)

/** The value of each sign of the tables, in 256ths of a token. */
const costs: ReadonlyMap<string, number> = new Map(
  Array.from(LEVELS, (sign, level) => [sign, Math.round(MAX_UNIT_COST * (level / (LEVELS.length - 1)) ** 2)]),
)

/** Costs by 128 × the previous class + the class, in 256ths of a token. */
const pairCosts = new Uint16Array(128 * 128)
const runCosts = new Uint16Array(128)
for (let before = 0; before < CLASSES; before++) pairCosts.set(decode(PAIR_COSTS[before]), before * 128 + 1)
runCosts.set(decode(RUN_COSTS), 1)

/*
 * Scripts without texts for fitting: o200k has hardly any token for them and splits them into nearly single UTF-8 bytes. Their costs were
 * measured on sentences in each script, without spaces, in 256ths of a token.
 */
/** A class that the tables don't use: scripts with about two tokens per character. */
const RARE_CLASS = 127
/** Yi, Vai, Javanese and neighboring blocks: nearly one token per byte. */
const RAREST_CLASS = classes[0xa000] as number
const ORIYA = classes[0xb00] as number
const UNFITTED: readonly (readonly [
  own: number,
  cost: number,
  blocks: readonly (readonly [number, number])[],
])[] = [
  [ORIYA, 256, [[0xb00, 0xb80]]],
  // Syriac, Thaana, N'Ko and Samaritan; Lao and Tibetan; Ethiopic.
  [
    RARE_CLASS,
    512,
    [
      [0x700, 0x750],
      [0x780, 0x8a0],
      [0xe80, 0x1000],
      [0x1200, 0x13a0],
    ],
  ],
  // Cherokee, Canadian syllables, runes, scripts of the Philippines; Mongolian to Ol Chiki.
  [
    RAREST_CLASS,
    700,
    [
      [0x13a0, 0x1780],
      [0x1800, 0x1c80],
    ],
  ],
]
const SIMILAR_CLASS = classes[0x1000] as number
for (let own = 0; own < 128; own++)
  pairCosts[(RARE_CLASS << 7) | own] = pairCosts[(SIMILAR_CLASS << 7) | own] as number
for (const [own, cost, blocks] of UNFITTED) {
  for (const [from, to] of blocks) classes.fill(own, from, to)
  for (let before = 0; before < 128; before++) pairCosts[(before << 7) | own] = cost
  runCosts[own] = cost
}

function decode(signs = ''): number[] {
  return Array.from(signs, (sign) => costs.get(sign) ?? 0)
}

/** The length of the beginning of a text that is read whole, in units. */
const WHOLE_UNITS = 1_024
/** The length of a block. A quarter of the rest of a text is read: the first units of each block. */
const BLOCK_UNITS = 1_024
const SAMPLE_UNITS = 256

/** A buffer for the units that are read: reading a typed array takes half the time of `charCodeAt`. */
const units = new Uint16Array(WHOLE_UNITS)
const bytes = Buffer.from(units.buffer)

/**
 * Returns the size of a text in units of `calibrated`, about sixteenths of a token of o200k. In a long text a quarter represents the
 * rest: tool outputs are most of the appended text, and are uniform over some hundreds of units.
 */
function measureCalibrated(text: string): number {
  const { length } = text
  if (length === 0) return 0
  let cost = scan(text, 0, Math.min(length, WHOLE_UNITS))
  for (let from = WHOLE_UNITS; from < length; from += BLOCK_UNITS) {
    const inBlock = Math.min(BLOCK_UNITS, length - from)
    const count = Math.min(SAMPLE_UNITS, inBlock)
    cost += scan(text, from, count) * (inBlock / count)
  }
  return Math.max(1, Math.round(cost / PER_UNIT))
}

/** Returns the cost of `count` units from a place on, in 256ths of a token. */
function scan(text: string, from: number, count: number): number {
  bytes.write(count === text.length ? text : text.slice(from, from + count), 'utf16le')
  let cost = 0
  let last = from === 0 ? -1 : text.charCodeAt(from - 1)
  let before = from === 0 ? 0 : (classes[last] as number)
  let isPair = false
  for (let at = 0; at < count; at++) {
    const unit = units[at] as number
    const own = classes[unit] as number
    if (unit === last && isPair) {
      cost += runCosts[own] as number
    } else {
      cost += pairCosts[(before << 7) | own] as number
      isPair = unit === last
    }
    before = own
    last = unit
  }
  return cost
}

/**
 * Counts without a tokenizer, close to real sizes for every kind of content; `docs/estimators.md` lists the errors by kind. Unbiased,
 * without a margin.
 */
export const calibratedEstimator: Estimator = {
  name: 'calibrated',
  measureText: (text) => measureCalibrated(text),
  mediaTokens: IMAGE_TOKEN_ESTIMATE,
  unitsPerCall: CHAT_TOKENS_PER_CALL * UNITS_PER_TOKEN,
  unitsPerToken: UNITS_PER_TOKEN,
  toTokens: (units, provider) => Math.ceil((units / UNITS_PER_TOKEN) * providerFactor(provider)),
  tokensPerMessage: CHAT_TOKENS_PER_MESSAGE,
  tokensPerConversation: CHAT_TOKENS_PER_CONVERSATION,
}
