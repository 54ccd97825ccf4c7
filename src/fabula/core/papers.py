"""What the papers are that metrics and protocols name as "authors, venue year": entries for a bibliography."""

from __future__ import annotations

from typing import NamedTuple

from fabula.core.errors import SpecError


class Paper(NamedTuple):
    key: str
    authors: str
    title: str
    venue: str
    year: int
    kind: str = "inproceedings"
    eprint: str = ""  # its number at arXiv, where it appeared nowhere else

    def bibtex(self) -> str:
        where = {"booktitle": self.venue} if self.kind == "inproceedings" else {"howpublished": self.venue}
        fields = {"title": f"{{{self.title}}}", "author": self.authors, **where, "year": str(self.year)}
        fields |= {"eprint": self.eprint, "archiveprefix": "arXiv"} if self.eprint else {}
        inside = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
        return f"@{self.kind}{{{self.key},\n{inside}}}\n"


CVPR = "IEEE/CVF Conference on Computer Vision and Pattern Recognition (CVPR)"
ICCV = "IEEE/CVF International Conference on Computer Vision (ICCV)"
ECCV = "European Conference on Computer Vision (ECCV)"
NEURIPS = "Advances in Neural Information Processing Systems (NeurIPS)"

# fmt: off
PAPERS = {
    "Anderson et al., ECCV 2016": Paper(
        "anderson2016spice", "Anderson, Peter and Fernando, Basura and Johnson, Mark and Gould, Stephen",
        "SPICE: Semantic Propositional Image Caption Evaluation", ECCV, 2016),
    "Batra et al., BMVC 2022": Paper(
        "batra2022closer", "Batra, Anil and Gowda, Shreyank N and Keller, Frank and Sevilla-Lara, Laura",
        "A Closer Look at Temporal Ordering in the Segmentation of Instructional Videos",
        "British Machine Vision Conference (BMVC)", 2022),
    "Chai et al., ICLR 2025": Paper(
        "chai2025auroracap",
        "Chai, Wenhao and Song, Enxin and Du, Yilun and Meng, Chenlin and Madhavan, Vashisht and Bar-Tal, Omer and "
        "Hwang, Jenq-Neng and Xie, Saining and Manning, Christopher D.",
        "AuroraCap: Efficient, Performant Video Detailed Captioning and a New Benchmark",
        "International Conference on Learning Representations (ICLR)", 2025),
    "Chen et al., arXiv 2015": Paper(
        "chen2015coco",
        r"Chen, Xinlei and Fang, Hao and Lin, Tsung-Yi and Vedantam, Ramakrishna and Gupta, Saurabh and "
        r"Doll{\'a}r, Piotr and Zitnick, C. Lawrence",
        "Microsoft COCO Captions: Data Collection and Evaluation Server", "arXiv", 2015, "misc", "1504.00325"),
    "Cho et al., PerceptionLM, 2025": Paper(
        "cho2025perceptionlm",
        r'Cho, Jang Hyun and Madotto, Andrea and Mavroudi, Effrosyni and Afouras, Triantafyllos and Nagarajan, '
        r'Tushar and Maaz, Muhammad and Song, Yale and Ma, Tengyu and Hu, Shuming and Jain, Suyog and Martin, '
        r'Miguel and Wang, Huiyu and Rasheed, Hanoona and Sun, Peize and Huang, Po-Yao and Bolya, Daniel and '
        r'Ravi, Nikhila and Jain, Shashank and Stark, Tammy and Moon, Shane and Damavandi, Babak and Lee, '
        r"Vivian and Westbury, Andrew and Khan, Salman and Kr{\"a}henb{\"u}hl, Philipp and Doll{\'a}r, Piotr "
        r'and Torresani, Lorenzo and Grauman, Kristen and Feichtenhofer, Christoph',
        "PerceptionLM: Open-Access Data and Models for Detailed Visual Understanding",
        "arXiv", 2025, "misc", "2504.13180"),
    "Denkowski & Lavie, WMT 2014": Paper(
        "denkowski2014meteor", "Denkowski, Michael and Lavie, Alon",
        "Meteor Universal: Language Specific Translation Evaluation for Any Target Language",
        "Workshop on Statistical Machine Translation (WMT)", 2014),
    "Fujita et al., ECCV 2020": Paper(
        "fujita2020soda",
        "Fujita, Soichiro and Hirao, Tsutomu and Kamigaito, Hidetaka and Okumura, Manabu and Nagata, Masaaki",
        "SODA: Story Oriented Dense Video Captioning Evaluation Framework", ECCV, 2020),
    "Gao et al., ICCV 2017": Paper(
        "gao2017tall", "Gao, Jiyang and Sun, Chen and Yang, Zhenheng and Nevatia, Ram",
        "TALL: Temporal Activity Localization via Language Query", ICCV, 2017),
    "Grauman et al., CVPR 2022": Paper(
        "grauman2022ego4d", "Grauman, Kristen and others",
        "Ego4D: Around the World in 3,000 Hours of Egocentric Video", CVPR, 2022),
    "Guo et al., ICLR 2025": Paper(
        "guo2025trace",
        "Guo, Yongxin and Liu, Jingyu and Li, Mingda and Tang, Xiaoying and Liu, Qingbin and Chen, Xi",
        "TRACE: Temporal Grounding Video LLM via Causal Event Modeling",
        "International Conference on Learning Representations (ICLR)", 2025),
    "Huang et al., CVPR 2024": Paper(
        "huang2024vtimellm", "Huang, Bin and Wang, Xin and Chen, Hong and Song, Zihan and Zhu, Wenwu",
        "VTimeLLM: Empower LLM to Grasp Video Moments", CVPR, 2024),
    "Johnson et al., CVPR 2016": Paper(
        "johnson2016densecap", "Johnson, Justin and Karpathy, Andrej and Fei-Fei, Li",
        "DenseCap: Fully Convolutional Localization Networks for Dense Captioning", CVPR, 2016),
    "Krishna et al., ICCV 2017": Paper(
        "krishna2017dense",
        "Krishna, Ranjay and Hata, Kenji and Ren, Frederic and Fei-Fei, Li and Niebles, Juan Carlos",
        "Dense-Captioning Events in Videos", ICCV, 2017),
    "Lei et al., ECCV 2020": Paper(
        "lei2020tvr", "Lei, Jie and Yu, Licheng and Berg, Tamara L. and Bansal, Mohit",
        "TVR: A Large-Scale Dataset for Video-Subtitle Moment Retrieval", ECCV, 2020),
    "Lei et al., NeurIPS 2021": Paper(
        "lei2021qvhighlights", "Lei, Jie and Berg, Tamara L. and Bansal, Mohit",
        "Detecting Moments and Highlights in Videos via Natural Language Queries", NEURIPS, 2021),
    "Liang et al., TVR-Ranking, 2024": Paper(
        "liang2024tvrranking",
        "Liang, Renjie and Li, Li and Zhang, Chongzhi and Wang, Jing and Zhu, Xizhou and Sun, Aixin",
        "TVR-Ranking: A Dataset for Ranked Video Moment Retrieval with Imprecise Queries",
        "arXiv", 2024, "misc", "2407.06597"),
    "Lin, WS 2004": Paper(
        "lin2004rouge", "Lin, Chin-Yew", "ROUGE: A Package for Automatic Evaluation of Summaries",
        "Text Summarization Branches Out", 2004),
    "Liu et al., NeurIPS 2024": Paper(
        "liu2024etbench",
        "Liu, Ye and Ma, Zongyang and Qi, Zhongang and Wu, Yang and Shan, Ying and Chen, Chang Wen",
        "E.T. Bench: Towards Open-Ended Event-Level Video-Language Understanding",
        "Advances in Neural Information Processing Systems (NeurIPS)", 2024),
    "Lokoč et al., TOMM 2019": Paper(
        "lokoc2019interactive",
        "Lokoč, Jakub and Kovalčík, Gregor and Münzer, Bernd and Schöffmann, Klaus and Bailer, Werner and "
        "Gasser, Ralph and Vrochidis, Stefanos and Nguyen, Phuong Anh and Rujikietgumjorn, Sitapa and "
        "Barthel, Kai Uwe",
        "Interactive Search or Sequential Browsing? A Detailed Analysis of the Video Browser Showdown 2018",
        "ACM Transactions on Multimedia Computing, Communications, and Applications (TOMM)", 2019, "article"),
    "Mkhallati et al., CVPRW 2023": Paper(
        "mkhallati2023soccernet",
        "Mkhallati, Hassan and Cioppa, Anthony and Giancola, Silvio and Ghanem, Bernard and Van Droogenbroeck, Marc",
        "SoccerNet-Caption: Dense Video Captioning for Soccer Broadcasts Commentaries",
        "IEEE/CVF Conference on Computer Vision and Pattern Recognition Workshops (CVPRW)", 2023),
    "Nishimura et al., EMNLP 2024": Paper(
        "nishimura2024lighthouse",
        "Nishimura, Taichi and Nakada, Shota and Munakata, Hokuto and Komatsu, Tatsuya",
        "Lighthouse: A User-Friendly Library for Reproducible Video Moment Retrieval and Highlight Detection",
        "Conference on Empirical Methods in Natural Language Processing: System Demonstrations (EMNLP)", 2024),
    "Papineni et al., ACL 2002": Paper(
        "papineni2002bleu", "Papineni, Kishore and Roukos, Salim and Ward, Todd and Zhu, Wei-Jing",
        "Bleu: a Method for Automatic Evaluation of Machine Translation",
        "Annual Meeting of the Association for Computational Linguistics (ACL)", 2002),
    "Park et al., CVPR 2019": Paper(
        "park2019adversarial", "Park, Jae Sung and Rohrbach, Marcus and Darrell, Trevor and Rohrbach, Anna",
        "Adversarial Inference for Multi-Sentence Video Description", CVPR, 2019),
    "Park et al., ECCV 2020": Paper(
        "park2020identity", "Park, Jae Sung and Darrell, Trevor and Rohrbach, Anna",
        "Identity-Aware Multi-Sentence Video Description", ECCV, 2020),
    "Raajesh et al., CVPR 2024": Paper(
        "raajesh2024micap", "Raajesh, Haran and Desanur, Naveen Reddy and Khan, Zeeshan and Tapaswi, Makarand",
        "MICap: A Unified Model for Identity-aware Movie Descriptions", CVPR, 2024),
    "Ren et al., CVPR 2024": Paper(
        "ren2024timechat", "Ren, Shuhuai and Yao, Linli and Li, Shicheng and Sun, Xu and Hou, Lu",
        "TimeChat: A Time-sensitive Multimodal Large Language Model for Long Video Understanding", CVPR, 2024),
    "Vedantam et al., CVPR 2015": Paper(
        "vedantam2015cider", "Vedantam, Ramakrishna and Zitnick, C. Lawrence and Parikh, Devi",
        "CIDEr: Consensus-based Image Description Evaluation", CVPR, 2015),
    "Wang et al., Tarsier, 2024": Paper(
        "wang2024tarsier", "Wang, Jiawei and Yuan, Liping and Zhang, Yuchen and Sun, Haomiao",
        "Tarsier: Recipes for Training and Evaluating Large Video Description Models",
        "arXiv", 2024, "misc", "2407.00634"),
    "Wang et al., Time-R1, 2025": Paper(
        "wang2025timer1",
        "Wang, Ye and Wang, Ziheng and Xu, Boshen and Du, Yang and Lin, Kejun and Xiao, Zihan and Yue, Zihao and "
        "Ju, Jianzhong and Zhang, Liang and Yang, Dingyi and Fang, Xiangnan and He, Zewen and Luo, Zhenbo and "
        "Wang, Wenxuan and Lin, Junqi and Luan, Jian and Jin, Qin",
        "Time-R1: Post-Training Large Vision Language Model for Temporal Video Grounding",
        "arXiv", 2025, "misc", "2503.13377"),
    "Wang et al., ICCV 2021": Paper(
        "wang2021pdvc",
        "Wang, Teng and Zhang, Ruimao and Lu, Zhichao and Zheng, Feng and Cheng, Ran and Luo, Ping",
        "End-to-End Dense Video Captioning with Parallel Decoding", ICCV, 2021),
    "Yang et al., CVPR 2023": Paper(
        "yang2023vid2seq",
        "Yang, Antoine and Nagrani, Arsha and Seo, Paul Hongsuck and Miech, Antoine and Pont-Tuset, Jordi and "
        "Laptev, Ivan and Sivic, Josef and Schmid, Cordelia",
        "Vid2Seq: Large-Scale Pretraining of a Visual Language Model for Dense Video Captioning", CVPR, 2023),
    "Yang et al., NeurIPS 2023": Paper(
        "yang2023vidchapters",
        "Yang, Antoine and Nagrani, Arsha and Laptev, Ivan and Sivic, Josef and Schmid, Cordelia",
        "VidChapters-7M: Video Chapters at Scale", NEURIPS, 2023),
    "Yao et al., ICML 2026": Paper(
        "yao2026timechatcap",
        "Yao, Linli and Wei, Yuancheng and Zhang, Yaojie and Li, Lei and Chen, Xinlong and Song, Feifan and "
        "Wang, Ziyue and Ouyang, Kun and Liu, Yuanxin and Kong, Lingpeng and others",
        "TimeChat-Captioner: Scripting Multi-Scene Videos with Time-Aware and Structural Audio-Visual Captions",
        "International Conference on Machine Learning (ICML)", 2026),
    "Zhang et al., TimeLens, 2025": Paper(
        "zhang2025timelens",
        "Zhang, Jun and Wang, Teng and Ge, Yuying and Ge, Yixiao and Li, Xinhao and Shan, Ying and Wang, Limin",
        "TimeLens: Rethinking Video Temporal Grounding with Multimodal LLMs", "arXiv", 2025, "misc", "2512.14698"),
    "Zhang et al., lmms-eval, 2024": Paper(
        "zhang2024lmmseval",
        "Zhang, Kaichen and Li, Bo and Zhang, Peiyuan and Pu, Fanyi and Cahyono, Joshua Adrian and Hu, Kairui and "
        "Liu, Shuai and Zhang, Yuanhan and Yang, Jingkang and Li, Chunyuan and Liu, Ziwei",
        "LMMs-Eval: Reality Check on the Evaluation of Large Multimodal Models", "arXiv", 2024, "misc", "2407.12772"),
    "Zhang et al., SIGIR 2021": Paper(
        "zhang2021reloclnet",
        "Zhang, Hao and Sun, Aixin and Jing, Wei and Nan, Guoshun and Zhen, Liangli and Zhou, Joey Tianyi and "
        "Goh, Rick Siow Mong",
        "Video Corpus Moment Retrieval with Contrastive Learning",
        "International ACM SIGIR Conference on Research and Development in Information Retrieval (SIGIR)", 2021),
    "Zheng et al., NeurIPS 2023": Paper(
        "zheng2023judging",
        "Zheng, Lianmin and Chiang, Wei-Lin and Sheng, Ying and Zhuang, Siyuan and Wu, Zhanghao and "
        "Zhuang, Yonghao and Lin, Zi and Li, Zhuohan and Li, Dacheng and Xing, Eric P. and Zhang, Hao and "
        "Gonzalez, Joseph E. and Stoica, Ion",
        "Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena", NEURIPS, 2023),
    "Zhou et al., AAAI 2018": Paper(
        "zhou2018towards", "Zhou, Luowei and Xu, Chenliang and Corso, Jason J.",
        "Towards Automatic Learning of Procedures from Web Instructional Videos",
        "AAAI Conference on Artificial Intelligence", 2018),
}
# fmt: on


def find_paper(named: str) -> Paper:
    """The paper that is named so; of other packages' metrics, one that is not here."""
    if named not in PAPERS:
        raise SpecError(f"no entry is known for {named!r}; cite it as its authors ask")
    return PAPERS[named]
